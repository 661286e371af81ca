/** The settings as a form asks for them: their fields of the schema, their help of the file that is the manual, and their values. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Document, isMap, isNode } from 'yaml'
import { AppError } from '#leaf/errors.ts'
import { isBusiness, type Schema } from '#leaf/who-decides.ts'
import { settingsSchema } from '../../core/settings.ts'
import { defaultSettings, settingsFile } from '../../settings/read-settings.ts'
import { numberText, type Reader, type TypedField, fieldsOf, mostRows } from '#ui/forms.ts'

/** A setting: where it stands, what it may be, and what it is when a site says nothing. */
export interface Setting {
  readonly path: readonly string[]
  readonly schema: Schema
  readonly usual: unknown
  readonly isBusiness: boolean
  /** What the shipped file says of it, without what is said to who writes YAML. */
  readonly help: string
}

type Values = Readonly<Record<string, unknown>>

/** Returns every setting, in the order of the schema, with its help of the shipped file. */
export function everySetting(): readonly Setting[] {
  const manual = readFileSync(join(import.meta.dirname, '../../..', settingsFile), 'utf8')
  const found = { defaults: defaultSettings(), helps: helpsIn(manual) }
  return settingsIn(settingsSchema, [], found)
}

interface Found {
  readonly defaults: unknown
  readonly helps: ReadonlyMap<string, string>
}

function settingsIn(schema: Schema, path: readonly string[], found: Found): Setting[] {
  const { properties } = schema as { readonly properties?: Readonly<Record<string, Schema>> }
  if (properties && ![schema['type']].flat().includes('null'))
    return Object.entries(properties).flatMap(([key, part]) => settingsIn(part, [...path, key], found))
  const help = found.helps.get(path.join('.')) ?? ''
  const usual = valueAt(found.defaults, path)
  return [{ path, schema, usual, help, isBusiness: isBusiness(settingsSchema, path) }]
}

/** Returns what stands at a path, if anything does. */
export function valueAt(data: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Values | null | undefined)?.[key], data)
}

/** Returns the setting as the form asks for it. */
export function settingField(setting: Setting, reader: Reader, roles: readonly string[]): TypedField {
  const said = reader.messages
  const key = setting.path.at(-1)!
  const type = [setting.schema['type']].flat().find((one) => one !== 'null')
  const [field] = fieldsOf({ properties: { [key]: { ...setting.schema, type } } })
  const columns = columnsOf(setting.schema, roles).map((column) => ({
    ...column,
    label: said.text('setting.' + column.name),
  }))
  const usual = saidValue(setting.usual, reader)
  const byDefault = usual === nothing ? '' : said.text('settings.usual').replace('{value}', () => usual)
  const help = said.problem(setting.help)
  return {
    ...field!,
    name: setting.path.join('.'),
    label: said.text('setting.' + key),
    description: `${help} ${byDefault}`.trim(),
    blank: '',
    ...(field!.kind === 'yesno' && { kind: 'flag' }),
    ...(columns.length > 0 && { kind: 'table', columns }),
  }
}

function columnsOf(schema: Schema, roles: readonly string[]): readonly TypedField[] {
  if (isMapping(schema))
    return [
      { name: 'role', label: '', kind: 'select', options: ['default', ...roles] },
      { name: 'branch', label: '', kind: 'line' },
    ]
  const { items } = schema as { readonly items?: Schema }
  return items?.['type'] === 'object' ? fieldsOf(items) : []
}

const isMapping = ({ type }: Schema): boolean => type === 'object'

/** Returns a value as the form begins with it; rows are called by their number. */
export function shownSetting({ schema }: Setting, value: unknown): unknown {
  const rows = isMapping(schema)
    ? Object.entries((value ?? {}) as Values).map(([role, branch]) => ({ role, branch }))
    : Array.isArray(value)
      ? (value as Values[])
      : undefined
  return rows?.map((row, index) => ({ ...row, name: String(index) })) ?? value
}

/** Returns a value of what a form holds; what was left blank is nothing, or else what it usually is. */
function settingOf({ path, schema, usual }: Setting, given: unknown, before: unknown): unknown {
  if (given === null) return [schema['type']].flat().includes('null') ? null : usual
  if (schema['type'] === 'integer') return Number.isNaN(Number(given)) ? given : Number(given)
  if (!Array.isArray(given)) return given
  // What stands there may be no list at all.
  const stored = Array.isArray(before) ? (before as Values[]) : []
  const typed = (given as Values[])
    .filter((row) => row['_delete'] !== true)
    .map(({ name, ...row }): Values => ({ ...stored[Number(name ?? -1)], ...row }))
  // Rows that no form shows stay as they are.
  const rows = [...typed, ...stored.slice(mostRows)]
  if (isMapping(schema)) {
    requireDistinct(path.join('.'), rows)
    return Object.fromEntries(rows.map(({ role, branch }) => [role, branch]))
  }
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([key]) => key !== 'name')))
}

/** Refuses rows of which a mapping would lose some: those without a role or a branch, and all but one of a role. */
function requireDistinct(name: string, rows: readonly Values[]): void {
  const roles = rows.map(({ role }) => role)
  const problems = rows.flatMap(({ role, branch }, index) => [
    ...(role ? [] : [`${name}[${index}].role: is required`]),
    ...(branch ? [] : [`${name}[${index}].branch: is required`]),
    ...(role && roles.indexOf(role) < index
      ? [`${name}[${index}].role: ${role as string} cannot be used, it must be unique`]
      : []),
  ])
  if (problems.length > 0) throw new AppError('invalid', problems.join('; '), { data: { problems } })
}

/** Writes what a form holds into the file of settings, of which everything else stays as it is. */
export function writeSettings(
  document: Document,
  settings: readonly Setting[],
  given: Values,
  before: Values,
): void {
  for (const setting of settings) {
    const name = setting.path.join('.')
    const value = settingOf(setting, given[name], before[name])
    for (const [index] of setting.path.slice(1).entries()) {
      const above = setting.path.slice(0, index + 1)
      if (!isMap(document.getIn(above))) document.setIn(above, document.createNode({}))
    }
    if (typeof value !== 'object' || value === null) document.setIn(setting.path, value)
    else {
      const node = document.createNode(value)
      const was = document.getIn(setting.path, true)
      if (isNode(was)) Object.assign(node, { comment: was.comment, commentBefore: was.commentBefore })
      document.setIn(setting.path, node)
    }
  }
}

const nothing = '–'

/** Returns a value of a setting in words. */
export function saidValue(value: unknown, reader: Reader): string {
  if (value === null || value === undefined || value === '') return nothing
  if (typeof value === 'boolean') return reader.messages.text(value ? 'form.yes' : 'form.no')
  if (typeof value === 'number') return numberText(value, reader)
  if (Array.isArray(value)) return value.map((one) => saidValue(one, reader)).join(', ') || nothing
  if (typeof value === 'string') return value
  return (
    Object.entries(value)
      .filter(([name]) => name !== 'name')
      .map(([name, one]) => `${name}: ${saidValue(one, reader)}`)
      .join(', ') || nothing
  )
}

function helpsIn(manual: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  let path: string[] = []
  let comment: string[] = []
  let last = ''
  for (const line of manual.split('\n')) {
    const [, indent = '', key] = /^( *)([a-z_]+):/.exec(line) ?? []
    const [, said] = /^ *# ?(.*)$/.exec(line) ?? []
    if (said !== undefined) comment.push(said)
    else if (key !== undefined) {
      // Keys that stand together share what is said above them.
      if (comment.length > 0 || indent.length / 2 !== path.length - 1) last = helpOf(comment)
      path = [...path.slice(0, indent.length / 2), key]
      found.set(path.join('.'), last)
      comment = []
    } else [comment, last] = [[], '']
  }
  return found
}

/** Returns a comment as help; examples in YAML, and the words that introduce them, are left out. */
function helpOf(comment: readonly string[]): string {
  const example = comment.findIndex((line) => line.startsWith('  '))
  const text = comment.slice(0, example < 0 ? comment.length : example).join(' ')
  return text
    .replace(/ In this file [^.]*:$/, '')
    .replace(/:$/, '.')
    .replaceAll(/\bnull:/g, 'Empty:')
}
