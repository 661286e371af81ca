import { parseLossless } from '#jinja/lossless-json.ts'
import { AppError, messageOf } from '../core/errors.ts'

/**
 * The prompt arguments inside the text of a request, as they stand there: `1.0` stays a float, 12345678901234567890
 * loses no digit, and keys such as "10" and "9" keep their order. `path` leads to them. Empty when there are none.
 */
export function suppliedArguments(body: string, path: readonly string[]): Record<string, unknown> {
  let value: unknown = read(body)
  for (const key of path) value = value instanceof Map ? value.get(key) : undefined
  return value instanceof Map ? (Object.fromEntries(value) as Record<string, unknown>) : {}
}

function read(body: string): unknown {
  try {
    return parseLossless(body)
  } catch (error) {
    throw new AppError('invalid', messageOf(error), { cause: error })
  }
}
