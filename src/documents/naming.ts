import { AppError } from '../core/errors.ts'
import { randomId } from '../core/secrets.ts'
import { cleanText, show } from '../core/values.ts'
import type { LastNumber } from './history.ts'
import type { Doctype } from './platform.ts'
import type { Work } from './work.ts'

/** Gives a new document its name by the rule of its doctype; `asked` is the name that the caller gave, if any. */
export async function nameFor(
  work: Work,
  doctype: Doctype,
  values: Readonly<Record<string, unknown>>,
  asked: unknown,
  taken: (name: string) => Promise<boolean>,
): Promise<string> {
  const { naming } = doctype
  switch (naming.rule) {
    case 'hash':
      return randomId().replace(/[-_]/g, '').slice(0, 12).toLowerCase()
    case 'series':
      // Its number would tell how many there are of all people.
      return work.dry ? naming.series : nextInSeries(work, naming.series, taken)
    case 'field':
      return checkName(values[naming.field], naming.field)
    default:
      return checkName(asked, 'name')
  }
}

async function nextInSeries(
  { documents, tx }: Work,
  pattern: string,
  taken: (name: string) => Promise<boolean>,
): Promise<string> {
  // Inside the transaction of the change, so that a number is used up only with its document.
  const counters = tx.in(documents.store.collection<LastNumber>({ name: 'platform.series' }))
  const digits = /#+$/.exec(pattern)![0].length
  const prefix = pattern.slice(0, -digits)
  let last = (await counters.get(pattern))?.last ?? 0
  let name: string
  // A name may be there without the counter, by another rule of naming: its number is skipped.
  do {
    last++
    name = prefix + String(last).padStart(digits, '0')
  } while (await taken(name))
  await counters.put({ id: pattern, last })
  return name
}

function checkName(value: unknown, from: string): string {
  const name = typeof value === 'string' ? cleanText(value).trim() : ''
  if (name === '' || name.length > 140 || /[\r\n]/.test(name))
    throw new AppError(
      'invalid',
      `${from}: a document is named by it, so it must be one line of 1 to 140 characters, not ${show(value)}`,
    )
  return name
}
