import { InvalidArgumentError } from 'commander'
import { momentOf } from '../audit/question.ts'

const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/** A duration such as `90d`, `12h`, `30m` or plain seconds, as seconds. */
export function secondsOption(text: string): number {
  const match = /^([1-9]\d*)([smhd])?$/.exec(text)
  if (!match)
    throw new InvalidArgumentError('must be a number of seconds, or a duration such as 30m, 12h or 90d')
  return Number(match[1]) * units[(match[2] ?? 's') as keyof typeof units]
}

/** A moment: a date, a duration back from now, or the beginning of `today` or `yesterday` here; as milliseconds since the epoch. */
export function momentOption(text: string): number {
  const time = momentOf(text, Date.now())
  if (time === undefined)
    throw new InvalidArgumentError(
      'must be a date such as 2026-01-31 or 2026-01-31T08:00Z, today, yesterday, or a duration back from now such as 2h',
    )
  return time
}

/** A whole number from 0. */
export function countOption(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a whole number')
  return Number(text)
}
