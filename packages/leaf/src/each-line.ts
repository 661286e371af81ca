import { StringDecoder } from 'node:string_decoder'

/**
 * Yields the lines of a stream as they come. Only a line feed ends one: Node's `readline` ends them at U+2028 as well since version
 * 24, and JSON leaves that in texts as it is. RangeError for a line that goes on after so many characters.
 */
export async function* eachLine(input: AsyncIterable<Uint8Array>, most = Infinity): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  let begun = ''
  for await (const bytes of input) {
    const [first = '', ...others] = decoder.write(bytes).split('\n')
    begun += first
    for (const next of others) {
      yield begun
      begun = next
    }
    if (begun.length > most) throw new RangeError(`a line has more than ${most} characters`)
  }
  begun += decoder.end()
  if (begun !== '') yield begun
}
