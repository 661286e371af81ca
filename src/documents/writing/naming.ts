import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import { cleanText, show } from '../../core/values.ts'
import type { Collection, Store } from '#state/store.ts'
import type { Work } from '../documents.ts'

/** The last number of a series that was used. */
interface LastNumber {
  readonly id: string
  readonly last: number
}

/** Names a new document by the rule of its doctype; `asked` is the name that the caller gave, if any. */
export async function nameFor(
  work: Work,
  values: Readonly<Record<string, unknown>>,
  asked: unknown,
): Promise<string> {
  const { naming } = work.access.doctype
  switch (naming.rule) {
    case 'hash':
      return randomId().replace(/[-_]/g, '').slice(0, 12).toLowerCase()
    case 'series':
      // A dry run shows the pattern: the number would reveal how many documents all people have.
      return work.dry ? naming.series : nextInSeries(work, naming.series)
    case 'key':
      return ''
    case 'field':
      return checkName(values[naming.field], naming.field)
    default:
      return checkName(asked, 'name')
  }
}

async function nextInSeries({ documents, tx }: Work, pattern: string): Promise<string> {
  // Inside the transaction of the change, so that a number is used up only with its document.
  const [collection] = lastOfSeries(documents.store, pattern)
  const counters = tx.in(collection)
  const last = ((await counters.get(pattern))?.last ?? 0) + 1
  await counters.put({ id: pattern, last })
  return numbered(pattern, last)
}

/** Returns the name with a number of a series. */
export function numbered(pattern: string, number: number): string {
  const digits = /#+$/.exec(pattern)![0].length
  return pattern.slice(0, -digits) + String(number).padStart(digits, '0')
}

/** Returns where the last number of a series is found. */
export function lastOfSeries(store: Store, pattern: string): readonly [Collection<LastNumber>, string] {
  return [store.collection<LastNumber>({ name: 'platform.series', contended: true }), pattern]
}

/** Returns a name that a document may have. AppError `invalid` for any other value. */
export function checkName(value: unknown, from: string): string {
  const name = typeof value === 'string' ? cleanText(value).trim() : ''
  // Browsers take . and .. in an address for the folder and the one above it, however they are written.
  if (name === '' || name.length > 140 || /[\r\n]|^\.{1,2}$/.test(name))
    throw new AppError(
      'invalid',
      `${from}: a document is named by it, so it must be one line of 1 to 140 characters other than . and .., not ${show(value)}`,
    )
  return name
}
