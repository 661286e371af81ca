/** Values of a source as PostgreSQL writes them: a driver would read dates in the daemon's time zone, and round long numbers. */
import { types as driver, type CustomTypesConfig, type PoolClient } from 'pg'

/** Type OIDs of pg_type. */
const json = [114, 3802]
const jsonArrays = [199, 3807]
/** date, timestamp, timestamp with time zone, interval, point, circle. */
const asText = [1082, 1114, 1184, 1186, 600, 718]
/** Arrays of these, and of numeric. */
const asTexts = [1182, 1115, 1185, 1187, 1017, 1231]
const textArray: number = 1009

/** Types that JSON holds in full and that are therefore not named: text, boolean, integer, float, JSON, arrays of them. */
const plain = new Set([
  16, 18, 19, 21, 23, 25, 26, 114, 199, 700, 701, 705, 1000, 1002, 1005, 1007, 1009, 1014, 1015, 1021, 1022,
  1042, 1043, 3802, 3807,
])

type Parser = (text: string) => unknown

const readTexts = driver.getTypeParser(textArray) as (text: string) => (string | null)[]
const readJsons: Parser = (text) => readTexts(text).map((item) => item && exactJson(item))
const parsers = new Map<number, Parser>([
  ...asText.map((type): [number, Parser] => [type, (text) => text]),
  ...asTexts.map((type): [number, Parser] => [type, readTexts]),
  ...json.map((type): [number, Parser] => [type, exactJson]),
  ...jsonArrays.map((type): [number, Parser] => [type, readJsons]),
])

/** The parsers of values for connections to sources. */
export const exactTypes: CustomTypesConfig = {
  getTypeParser: (type: number, format?: 'text' | 'binary') =>
    parsers.get(type) ?? (driver.getTypeParser(type, format) as Parser),
}

/** Returns the source's type names, such as `bigint` or `date`, of the columns that an answer holds as text. */
export async function typesOf(
  client: PoolClient,
  fields: readonly { readonly name: string; readonly dataTypeID: number }[],
): Promise<Readonly<Record<string, string>>> {
  const told = fields.filter(({ dataTypeID }) => !plain.has(dataTypeID))
  if (told.length === 0) return {}
  const text = 'SELECT format_type(type, NULL) AS name FROM unnest($1::oid[]) AS type'
  const types = told.map(({ dataTypeID }) => dataTypeID)
  const { rows } = await client.query<{ name: string }>({ text, values: [types] })
  return Object.fromEntries(told.map(({ name }, index) => [name, rows[index]!.name]))
}

/** Parses JSON; numbers that JavaScript would round become texts of their digits. */
function exactJson(text: string): unknown {
  const kept = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (part) =>
    part.startsWith('"') || isExact(part) ? part : `"${part}"`,
  )
  return JSON.parse(kept)
}

function isExact(number: string): boolean {
  return digitsOf(number) === digitsOf(String(Number(number)))
}

/** Returns the digits of a number without sign, point, exponent and zeros at either end. */
function digitsOf(number: string): string {
  return number
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '')
}
