/** Values as their reader writes and reads them: numbers, amounts, days and times by language and time zone, people by name. */
import { isoTime } from '#leaf/clock.ts'
import type { Decimal } from '#leaf/decimal.ts'
import type { Language, Messages } from './messages.ts'

/** The kinds of input. `flag` is a box that is checked or not, `yesno` may also be left open; a `password` is never shown again. */
export type InputKind =
  | 'line'
  | 'email'
  | 'search'
  | 'password'
  | 'file'
  | 'text'
  | 'code'
  | 'number'
  | 'flag'
  | 'yesno'
  | 'date'
  | 'datetime'
  | 'select'
  | 'several'
  | 'link'
  | 'json'
  | 'table'

/** A field of a form. */
export interface TypedField {
  readonly name: string
  readonly label: string
  readonly kind: InputKind
  readonly description?: string | undefined
  readonly required?: boolean | undefined
  readonly options?: readonly string[] | undefined
  /** What options are called, where that is not what they are. */
  readonly words?: ReadonlyMap<string, string> | undefined
  /** The kind of what a link may name, by which suggestions are asked for. */
  readonly linked?: string | undefined
  /** True for a time that is an instant, which everybody types in their own time zone. */
  readonly instant?: boolean | undefined
  /** Digits after the point, of an amount. */
  readonly places?: number | undefined
  /** The most characters, and the fewest. */
  readonly longest?: number | undefined
  readonly shortest?: number | undefined
  /** True where a browser need not ask us what is wrong with nothing: a password, a file, a box that confirms. */
  readonly needed?: true | undefined
  /** What no choice is called; empty where there is always one. */
  readonly blank?: string | undefined
  /** What a field suggests besides what links do. */
  readonly suggested?: readonly { readonly value: string; readonly label: string }[] | undefined
  /** True for what is typed letter by letter, such as an id: a phone must not begin it with a capital. */
  readonly verbatim?: true | undefined
  readonly placeholder?: string | undefined
  /** What a browser fills in, in the words of HTML. */
  readonly autocomplete?: string | undefined
  /** True where options are languages, each called by its own name. */
  readonly spoken?: true | undefined
  /** The columns of a table. */
  readonly columns?: readonly TypedField[] | undefined
  /** True for what the person may see but not change. */
  readonly fixed?: boolean | undefined
}

/** Returns what makes a field a choice between values, each by what it is called. */
export function choiceOf(choices: Iterable<readonly [value: string, word: string]>) {
  const words: ReadonlyMap<string, string> = new Map(choices)
  return { kind: 'select', options: [...words.keys()], words } as const
}

/** The reader of a page. */
export interface Reader {
  readonly language: Language
  readonly timeZone: string
  /** The words that they are told in. */
  readonly messages: Messages
}

/** The marks of each language: what parts thousands, and what begins the part below one. */
const marks: Readonly<Record<Language, { readonly group: RegExp; readonly point: string }>> = {
  en: { group: /^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$/, point: '.' },
  de: { group: /^[+-]?(\d{1,3}(\.\d{3})+(,\d*)?|\d*,\d+)$/, point: ',' },
}

/** Returns a number as programs write it, of one in the reader's way; what is none stays as it was typed. */
export function plainNumber(text: string, { language }: Reader): string {
  const plain = text.trim().replaceAll(/[\s\u00a0\u202f]/g, '')
  const { group, point } = marks[language]
  if (!group.test(plain)) return plain === '' ? text : plain
  return point === '.' ? plain.replaceAll(',', '') : plain.replaceAll('.', '').replace(',', '.')
}

/** Returns the text with which an input begins for a value. */
export function inputText(
  { kind, instant, fixed, places }: Pick<TypedField, 'kind' | 'instant' | 'fixed' | 'places'>,
  value: unknown,
  reader: Reader,
): string {
  if (value === undefined || value === null || kind === 'table' || kind === 'several' || kind === 'password')
    return ''
  if (kind === 'flag') return value === true || value === 1 || value === 'true' || value === '1' ? 'true' : ''
  if (kind === 'json') return JSON.stringify(value, null, 2)
  if (kind === 'number' && typeof value === 'number' && fixed) return numberText(value, reader, places)
  if (kind === 'number' && typeof value === 'number')
    return String(value).replace('.', marks[reader.language].point)
  if (kind === 'number' && typeof value === 'string' && /^[+-]?\d+\.\d+$/.test(value))
    return value.replace('.', marks[reader.language].point)
  if (kind === 'datetime' && instant && typeof value === 'string') return localText(value, reader)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns a moment by the reader's clock, to the minute; what is none stays as it is. */
export function localText(value: string, { timeZone }: Reader): string {
  const time = Date.parse(value)
  return Number.isNaN(time) ? value : isoTime(time + offsetAt(timeZone, time)).slice(0, 16)
}

/** Returns the instant of a local time that was typed; what is no time stays as it is. */
export function instantOf(text: string, { timeZone }: Reader): string {
  const local = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN
  if (Number.isNaN(local)) return text
  // The offset is that of the instant, which is near: asked twice, it is right on the days when clocks change, too.
  const near = local - offsetAt(timeZone, local)
  return isoTime(local - offsetAt(timeZone, near))
}

const formats = new Map<string, unknown>()

/** Returns the format of a name, which is made once: making one takes longer than a page. */
export function keptFormat<Format>(name: string, make: () => Format): Format {
  const format = (formats.get(name) as Format | undefined) ?? make()
  formats.set(name, format)
  return format
}

const localeOf = (language: Language): string => (language === 'en' ? 'en-GB' : language)

/** Returns by how many milliseconds the clocks of a zone are ahead of UTC at a time. */
function offsetAt(timeZone: string, time: number): number {
  const options = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const
  const local = keptFormat(`zone ${timeZone}`, () => new Intl.DateTimeFormat('sv-SE', options)).format(time)
  return Date.parse(`${local.replace(' ', 'T')}Z`) - Math.floor(time / 1000) * 1000
}

/** Returns a number as the reader reads it, with so many digits after the point; a decimal has its own, and loses none before it. */
export function numberText(
  value: number | Decimal,
  { language }: Reader,
  places = typeof value === 'number' ? undefined : value.places,
): string {
  // A text is not rounded to a number first.
  const number = typeof value === 'number' ? value : (String(value) as `${number}`)
  const format = keptFormat(`number ${language} ${places}`, () => {
    const exactly = { minimumFractionDigits: places, maximumFractionDigits: places }
    const digits = places === undefined ? { maximumFractionDigits: 9 } : exactly
    return new Intl.NumberFormat(localeOf(language), digits)
  })
  return format.format(number)
}

/** Returns a day as the reader reads it. */
export function dayText(value: string, { language }: Reader): string {
  const time = Date.parse(`${value}T00:00Z`)
  if (Number.isNaN(time)) return value
  const options = { dateStyle: 'medium', timeZone: 'UTC' } as const
  return keptFormat(`day ${language}`, () => new Intl.DateTimeFormat(localeOf(language), options)).format(
    time,
  )
}

/** Formats a time to the minute, or exactly to the second, in the form that every language reads alike, with its zone. */
export function minuteIn(timeZone: string, time: number, exactly = false): string {
  const timeStyle = exactly ? 'medium' : 'short'
  const minutes = keptFormat(
    `${timeStyle} ${timeZone}`,
    () => new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle }),
  )
  const zones = keptFormat(
    `name ${timeZone}`,
    () => new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'short' }),
  )
  // Its name stands behind the day.
  return `${minutes.format(time)} ${zones.format(time).replace(/^.* /, '')}`
}
