import { parseLossless } from '#jinja/lossless-json.ts'
import { AppError, messageOf } from '#leaf/errors.ts'

/**
 * Reads the prompt arguments at `path` from the text of a request without loss: `1.0` stays a float,
 * 12345678901234567890 keeps every digit, and keys such as "10" and "9" keep their order. Empty when there are none.
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
