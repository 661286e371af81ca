/** What `doctor --public` asks: of the address as a client does, redirects and faults included; and of the daemon behind it. */
import { messageOf } from '../../core/errors.ts'
import type { Arrival } from '../../http/doctor-probe.ts'

/** What is asked of the daemon behind the address, over its control socket; undefined where it cannot be. */
export interface Inside {
  /** The address that it publishes. */
  readonly publicUrl: string
  expect(): Promise<string>
  arrival(nonce: string): Promise<Arrival | null>
}

/** Milliseconds that one answer may take. */
export const patience = 10_000

/** An answer as it came. */
export interface PublicAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Asks once and follows nothing; a fault is told in words. */
export async function ask(
  url: string,
  init: RequestInit = {},
): Promise<PublicAnswer | { readonly fault: string }> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(patience), ...init })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const code = (cause as NodeJS.ErrnoException).code
    return { fault: `${url}: ${code === undefined ? '' : `${code}: `}${messageOf(cause)}` }
  }
}
