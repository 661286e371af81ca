/** The longest time that a timer of Node keeps; a longer one would end at once. */
export const longestTimer = 2 ** 31 - 1

/**
 * Returns a signal that aborts with another one, or after so many milliseconds. A signal of AbortSignal.any is lost to the
 * garbage collector while nobody listens to it: in Node 20 with the timeout that only it knows, in 24 whatever it is made of.
 */
export function within(milliseconds: number, signal: AbortSignal): AbortSignal {
  const deadline = new AbortController()
  const end = (reason: unknown): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', follow)
    deadline.abort(reason)
  }
  const follow = (): void => end(signal.reason)
  const late = new DOMException(`not done in ${milliseconds / 1000} seconds`, 'TimeoutError')
  const timer = setTimeout(end, milliseconds, late).unref()
  if (signal.aborted) follow()
  else signal.addEventListener('abort', follow)
  return deadline.signal
}
