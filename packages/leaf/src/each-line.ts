import { StringDecoder } from 'node:string_decoder'

/**
 * Yields the lines of a stream as they come. Only a line feed ends one: Node's `readline` ends them at U+2028 as well since version
 * 24, and JSON leaves that in texts as it is.
 */
export async function* eachLine(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  let begun = ''
  for await (const bytes of input) {
    const [first = '', ...others] = decoder.write(bytes).split('\n')
    begun += first
    for (const next of others) {
      yield begun
      begun = next
    }
  }
  begun += decoder.end()
  if (begun !== '') yield begun
}
