/** Where chance enters. */
import { randomInt } from 'node:crypto'

/** A whole number from 0 up to, not including, `limit`. */
export function below(limit: number): number {
  return randomInt(limit)
}
