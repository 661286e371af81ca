/** One row of the table of `doctor --attack`, and how it is asked. */
import { ask, type PublicAnswer } from './public-ask.ts'

/** What became of one attack: it held or it did not, or it could not be told from here. */
export interface Outcome {
  readonly held: boolean | undefined
  readonly detail: string
}

/** One row of the table. */
export interface Attack {
  readonly check: string
  /** What to do when it is not the program that is at fault. */
  readonly remedy?: string
  readonly run: () => Promise<Outcome>
}

/** An answer, or that none came, which no row can judge. */
export async function answered(url: string, init?: RequestInit): Promise<PublicAnswer | Outcome> {
  const answer = await ask(url, init)
  return 'fault' in answer ? { held: undefined, detail: answer.fault } : answer
}
