import { unknownKeyText } from '#leaf/schema.ts'
import { type Fault, faultText } from './site-files.ts'

/**
 * Puts causes first and leaves out the faults that only follow from them: `unknown role "Nurse"` means nothing
 * while roles.yaml cannot be read. Each cause says how many faults follow from it, so that its author looks
 * for one mistake, not for thirty-five. `givenIn` returns the file, among those with a fault, in which a noun's
 * name would stand.
 */
export function causesFirst(
  found: readonly Fault[],
  givenIn: (noun: string, name: string) => string | undefined,
): Fault[] {
  const faults = inOrder(found)
  const following = new Map<string, number>()
  const places = new Set(faults.filter(({ message }) => !message.startsWith(unknownKeyText)).map(placeOf))
  const kept = faults.filter((fault) => {
    const { file, message } = fault
    // The key's own fault says more than that the key is unknown.
    if (message.startsWith(unknownKeyText) && places.has(placeOf(fault))) return false
    const [, noun, name] = /^unknown (\w+) "([^"]*)"/.exec(message) ?? []
    const cause = noun === undefined ? undefined : givenIn(noun, name!)
    if (cause === undefined || cause === file) return true
    following.set(cause, (following.get(cause) ?? 0) + 1)
    return false
  })
  const told = new Set<string>()
  const counted = kept.map((fault) => {
    const count = following.get(fault.file)
    if (count === undefined || told.has(fault.file)) return fault
    told.add(fault.file)
    return {
      ...fault,
      message: `${fault.message} (${count} ${count === 1 ? 'fault' : 'faults'} elsewhere follow${count === 1 ? 's' : ''} from it)`,
    }
  })
  return [
    ...counted.filter(({ file }) => following.has(file)),
    ...counted.filter(({ file }) => !following.has(file)),
  ]
}

/** Returns each fault once, file by file as they are read (people before what is for them), in the order of lines. */
function inOrder(found: readonly Fault[]): Fault[] {
  const files = [...new Set(found.map(({ file }) => file))]
  return [...new Map(found.map((fault) => [faultText(fault), fault])).values()].sort(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
  )
}

/** Returns the place of a fault as a text. */
export function placeOf({ file, line, column, path }: Fault): string {
  return `${file}:${line}:${column} ${path}`
}
