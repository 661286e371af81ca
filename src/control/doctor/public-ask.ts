import { AppError, messageOf } from '#leaf/errors.ts'

/** Milliseconds in which an answer has to come. */
export const patience = 10_000

/** An answer as received. */
export interface PublicAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Sends one request to the public address as a client does, without redirects. AppError `unavailable` when no answer comes. */
export async function ask(url: string, init: RequestInit = {}): Promise<PublicAnswer> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(patience), ...init })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const code = (cause as NodeJS.ErrnoException).code
    throw new AppError('unavailable', `${url}: ${code === undefined ? '' : `${code}: `}${messageOf(cause)}`)
  }
}
