/** Texts in a statement that its columns never hold: the statement answers nothing, or spares nothing, and says no word about it. */
import { AppError } from '#leaf/errors.ts'
import { namedIn } from '#sandbox/tables.ts'
import type { Principal } from '../core/principal.ts'
import { comparableField, type Filter } from '../documents/asking/filters.ts'
import { filtersOf } from '../documents/asking/linked-filters.ts'
import { type Documents, readableAccesses } from '../documents/documents.ts'
import type { FieldType } from '../documents/platform/platform.ts'

type Values = readonly unknown[] | Readonly<Record<string, unknown>>

const value = String.raw`(?:'(?:[^']|'')*'|\$\w+|\?)`
const compared = new RegExp(
  String.raw`"?\b([A-Za-z_]\w*)"?\s*(?:=|<>|!=|(?:not\s+)?in\s*\()\s*(${value}(?:\s*,\s*${value})*)`,
  'gi',
)
const looked: ReadonlySet<FieldType> = new Set(['text', 'select', 'link'])
const mostTexts = 20

/** Returns what is to be said of texts that are compared with columns of documents, and that none of them has, with what is near. */
export async function unknownTexts(
  documents: Documents,
  principal: Principal,
  sql: string,
  parameters: Values = [],
): Promise<readonly string[]> {
  const isNamed = namedIn(sql)
  const tables = readableAccesses(documents, principal).filter(({ doctype: { name } }) => isNamed(name))
  const warnings: string[] = []
  for (const { column, text } of comparedTexts(sql, parameters)) {
    const faults: string[] = []
    const having = tables.filter((access) => {
      const field = comparableField(access, column)
      return typeof field !== 'string' && looked.has(field.type)
    })
    for (const access of having) {
      const fault = await faultOf(filtersOf(access, { [column]: ['=', text] }), text)
      if (fault !== undefined) faults.push(`${access.doctype.name}.${fault}`)
    }
    // Of two tables with such a column, the other may be meant.
    if (faults.length > 0 && faults.length === having.length) warnings.push(faults[0]!)
  }
  return [...new Set(warnings)]
}

async function faultOf(reading: Promise<readonly Filter[]>, text: string): Promise<string | undefined> {
  try {
    const [read] = await reading
    // A filter forgives blanks, a statement does not.
    return typeof read?.value === 'string' && read.value !== text
      ? `${read.field}: "${text}" is written "${read.value}"`
      : undefined
  } catch (error) {
    if (error instanceof AppError) return error.message.replace(/^filters: /, '')
    throw error
  }
}

/** Finds the first columns of a statement that are compared with texts, which stand in it or among its parameters. */
function comparedTexts(sql: string, parameters: Values): { column: string; text: string }[] {
  const named = new Map(
    Array.isArray(parameters)
      ? parameters.map((one: unknown, index) => [String(index + 1), one])
      : Object.entries(parameters),
  )
  const plain = sql.replace(/'(?:[^']|'')*'/g, (text) => ' '.repeat(text.length))
  const texts: { column: string; text: string }[] = []
  // Statements are long: no part of one is counted twice.
  let [asked, counted] = [1, 0]
  for (const { 1: column, 2: list, index, 0: whole } of sql.matchAll(compared)) {
    const start = index + whole.length - list!.length
    asked += plain.slice(counted, start).split('?').length - 1
    counted = index + whole.length
    for (const [one] of list!.matchAll(new RegExp(value, 'g'))) {
      const given = one.startsWith("'")
        ? one.slice(1, -1).replaceAll("''", "'")
        : named.get(one === '?' ? String(asked++) : one.slice(1))
      if (typeof given === 'string' && given !== '') texts.push({ column: column!, text: given })
      if (texts.length === mostTexts) return texts
    }
  }
  return texts
}
