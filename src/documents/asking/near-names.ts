/** Names and texts that were probably meant instead of those that nothing has, among documents that the principal may read. */
import { didYouMean, fold, nearestOf } from '#leaf/names.ts'
import { inTurns, Slice, type Slices } from '#leaf/slices.ts'
import type { Stop } from '#leaf/stop.ts'
import type { Collection } from '#state/store.ts'
import type { Access } from '../permission.ts'
import { type StoredDocument, valueOf } from '../writing/stored.ts'
import { comparableField, openTo } from './filters.ts'

/** What a principal may read of a doctype. */
interface Readable extends Access {
  readonly documents: { readonly stop?: Stop | undefined }
  collection(): Collection<StoredDocument>
}

/** The most documents that one is chosen from. */
const mostKnown = 5000
/** Longer texts are looked for by their words, which `contains` finds. */
const longestKnown = 500

const bare = (text: string): string => fold(text).replace(/[^\p{L}\p{N}]+/gu, '')
/** Returns the fields by whose values the principal knows a document: its name and, where it may be compared, its title. */
export function namingFields(access: Access): readonly string[] {
  const title = access.doctype.titleField
  return title === undefined || typeof comparableField(access, title) === 'string'
    ? ['name']
    : [title, 'name']
}

/** Returns `; did you mean "…"?` with the name of a readable document whose name or title is near. */
export async function meant(access: Readable, name: string): Promise<string> {
  const { near, texts } = await nearIn(access, namingFields(access), name, true)
  if (near === undefined) return ''
  const part = fold(name)
  const within = part.length > 2 ? [...texts.keys()].filter((one) => fold(one).includes(part)).length : 0
  const id = texts.get(near)!
  const more = within > 1 ? ` (${within} have it in their name; search_link lists them)` : ''
  return `${didYouMean(id, [id])}${near === id ? '' : ` (${near})`}${more}`
}

/** Returns the text of the fields that was probably meant, or also a word in one. */
export async function nearText(
  access: Readable,
  fields: readonly string[],
  text: string,
  whole: boolean,
): Promise<string | undefined> {
  // Of a table of others, that would be to read all of it.
  if (access.doctype.origin) return undefined
  // Among one or two letters everything is near, and nobody mistypes one letter of a long text.
  if (text.length > longestKnown || bare(text).length < 3) return undefined
  const { near } = await nearIn(access, fields, text, whole)
  // Who came meanwhile, or holds it elsewhere, is nothing that was mistyped.
  return near === text ? undefined : near
}

/** Returns the texts that documents hold, each with its document, and the one that is near; its document is noted as shown. */
async function nearIn(
  access: Readable,
  fields: readonly string[],
  text: string,
  whole: boolean,
): Promise<{ readonly near: string | undefined; readonly texts: ReadonlyMap<string, string> }> {
  const found = await access.collection().find({ holds: openTo(access), limit: mostKnown })
  const texts = new Map<string, string>()
  const near = await inTurns(nearestIn(texts, heldIn(found, fields), text, whole), access.documents.stop)
  access.show(found.filter(({ id }) => near !== undefined && id === texts.get(near)))
  return { near, texts }
}

function* heldIn(
  found: readonly StoredDocument[],
  fields: readonly string[],
): Generator<readonly [id: string, text: string]> {
  for (const one of found)
    for (const field of fields) {
      const held = field === 'name' ? one.id : valueOf(one, field)
      if (typeof held === 'string' && held.length <= longestKnown) yield [one.id, held]
    }
}

/** Gathers texts, each with its document, and finds the one that was meant: best with the same letters, else near, else a part. */
function* nearestIn(
  texts: Map<string, string>,
  held: Iterable<readonly [id: string, text: string]>,
  text: string,
  whole: boolean,
): Slices<string | undefined> {
  const slice = new Slice()
  const written = bare(text)
  let [same, part, around]: (string | undefined)[] = []
  for (const [id, one] of held) {
    for (const piece of whole ? [one] : [one, ...one.split(/[^\p{L}\p{N}]+/u)]) {
      // Among one or two letters everything would be a part of everything.
      const letters = written.length < 3 || texts.has(piece) ? '' : bare(piece)
      texts.set(piece, id)
      if (letters === '') continue
      if (letters === written) same ??= piece
      else if (letters.length > 2 && written.includes(letters)) part ??= piece
      else if (letters.includes(written)) around ??= piece
    }
    if (slice.isOver()) yield* slice.pause()
  }
  return same ?? (yield* nearestOf(text, texts.keys())) ?? part ?? around
}
