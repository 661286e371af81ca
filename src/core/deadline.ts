/**
 * A signal that ends with another one, or after so many milliseconds. Its timer keeps hold of it: in Node 20 an
 * AbortSignal.timeout that only an AbortSignal.any knows is collected before its time, and then never comes.
 */
export function within(milliseconds: number, signal: AbortSignal): AbortSignal {
  const deadline = new AbortController()
  const late = new DOMException(`not done in ${milliseconds / 1000} seconds`, 'TimeoutError')
  setTimeout(() => deadline.abort(late), milliseconds).unref()
  return AbortSignal.any([signal, deadline.signal])
}
