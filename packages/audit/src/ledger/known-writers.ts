/**
 * The writers of a ledger that the daemon of a folder knows: those that were there when it came, and those for whom a
 * known one has signed. The list lies beside its key: what happens to the database does not happen to the list.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '#leaf/files.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Ledger, LedgerWriter } from '#state/store.ts'
import { isSigned, type LogKey, type PublicKeys, publicKeysOf, publicTextsIn } from '../checkpoint.ts'
import { keyChangeText } from '../keeping/key-change.ts'
import { type ToldEvent, toldBefore } from '../line.ts'
import { tailAudit } from '../finding/search.ts'
import type { LedgerPart } from '../writing.ts'

/** The person who answers for something, and the reason. */
export interface Answerer {
  readonly by: string
  readonly reason: string
}

export class KnownWriters {
  readonly #ledger: Ledger
  readonly #mine: string
  readonly #folder: string
  readonly #path: string
  /** The public keys of each known writer as PEM texts. */
  #known: Map<string, readonly string[]> | undefined

  /** Takes this daemon's part in a ledger; the list lies beside its head. */
  constructor({ ledger, id: mine, head }: LedgerPart, folder: string) {
    this.#ledger = ledger
    this.#mine = mine
    this.#folder = folder
    this.#path = join(folder, head.replace(/^head/, 'writers'))
  }

  /** Returns writers of lines for whom, with the key by which they sign, nobody known has signed. */
  async strangers(writers: readonly LedgerWriter[]): Promise<readonly LedgerWriter[]> {
    const known = (this.#known ??= await this.#read(writers))
    const strange = (): readonly LedgerWriter[] =>
      writers.filter(({ id, keys, last }) => {
        // Only the present key counts: what another key of the row signed counts once this one has signed behind it.
        const isKnown = known.get(id)?.includes(keys.at(-1) ?? '')
        return last > 0 && id !== this.#mine && !isKnown
      })
    if (strange().length > 0 && (await this.#learn(known, writers))) await this.#keep(known)
    return strange()
  }

  /** The ids of the keys of a writer for which somebody known has signed, as `strangers` learnt them last. */
  keysOf(id: string): ReadonlySet<string> {
    return new Set(publicKeysOf(this.#known?.get(id) ?? []).all.keys())
  }

  /** True when a writer signs with the key of its id, or with one for which that has signed; the database may name any. */
  async isItself(writer: LedgerWriter): Promise<boolean> {
    const { id, keys } = writer
    const known = new Map([[id, keys.filter((key) => publicKeysOf([key]).id === id)]])
    await this.#learn(known, [writer])
    return known.get(id)!.includes(keys.at(-1) ?? '')
  }

  /** Reads the known writers: those who were there before this daemon, and nobody who comes later. */
  async #read(writers: readonly LedgerWriter[]): Promise<Map<string, readonly string[]>> {
    const text = await readFile(this.#path, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    })
    if (text !== undefined) return new Map(Object.entries(JSON.parse(text) as Record<string, string[]>))
    const known = new Map(writers.map(({ id, keys }) => [id, keys]))
    await this.#keep(known)
    return known
  }

  /** Adds what known writers sign for: other writers, and their own next keys. Returns whether there was any. */
  async #learn(known: Map<string, readonly string[]>, writers: readonly LedgerWriter[]): Promise<boolean> {
    const told = async (type: string): Promise<readonly Word[]> =>
      (await tailAudit(this.#ledger, Infinity, { type })).map(({ data = {} }) => wordIn(data))
    const [vouches, changes] = [await told('audit.writer'), await told('audit.key')]
    const own = await publicTextsIn(this.#folder)
    const before = JSON.stringify([...known])
    for (let seen = ''; seen !== JSON.stringify([...known]);) {
      seen = JSON.stringify([...known])
      const { all } = publicKeysOf([...own, ...[...known.values()].flat()])
      for (const writer of writers) {
        const before = known.get(writer.id) ?? []
        const isVouched = vouches.some((word) => word.to === writer.id && holds(word, vouchText, all))
        // Of the keys that the database names, its id means one; the others must follow from that.
        const isMeant = (id: string): boolean => isVouched && id === writer.id
        const follows = (id: string): boolean =>
          changes.some((word) => id === word.to && holds(word, keyChangeText, publicKeysOf(before).all))
        const isSignedFor = ({ id = '-' }: PublicKeys): boolean => isMeant(id) || follows(id)
        const more = writer.keys.filter((key) => !before.includes(key) && isSignedFor(publicKeysOf([key])))
        if (more.length > 0) known.set(writer.id, [...before, ...more])
      }
    }
    return before !== JSON.stringify([...known])
  }

  async #keep(known: ReadonlyMap<string, readonly string[]>): Promise<void> {
    await replaceFile(this.#path, `${JSON.stringify(Object.fromEntries(known))}\n`)
  }
}

/** Returns the event by which a daemon signs for another writer, for whom somebody answers. */
export function vouchFor(
  { id: to, name: target }: Pick<LedgerWriter, 'id' | 'name'>,
  key: LogKey,
  time: string,
  answer: Answerer,
): ToldEvent {
  const data = { ...answer, from: key.id, to, signed: key.sign(vouchText(key.id, to)) }
  const event = { type: 'audit.writer', status: 'ok', user: 'cli', target, data } as const
  return { ...toldBefore(randomId(), time, event), sealed: true }
}

/** A signed statement of one key for another, or for a writer. */
interface Word {
  readonly from: string
  readonly to: string
  readonly signed: string
}

function wordIn({ from, to, signed }: Readonly<Record<string, unknown>>): Word {
  return { from: String(from), to: String(to), signed: String(signed) }
}

function holds(
  { from, to, signed }: Word,
  textOf: (from: string, to: string) => string,
  keys: PublicKeys['all'],
): boolean {
  const key = keys.get(from)
  return key !== undefined && isSigned(key, textOf(from, to), signed)
}

function vouchText(from: string, to: string): string {
  return `assistant-core audit writer\n${from}\n${to}`
}
