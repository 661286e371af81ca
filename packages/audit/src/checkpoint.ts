/**
 * Signatures over the chain. A checkpoint is a line that signs its own number and the hash of the line
 * before it, and thereby everything before it. The head is a small file beside the log that records how
 * far the log had come, so that lines cut off its end are missed.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { replaceFile } from '#leaf/files.ts'
import { randomId, sha256 } from '#leaf/secrets.ts'
import type { LedgerWriter } from '#state/store.ts'
import type { AuditLine } from './audit.ts'
import type { KnownLine } from './verifying/known-log.ts'
import { lineHash, parseLine, type ToldEvent, toldBefore } from './line.ts'

/** The file of the private key that signs; readable for the daemon alone. */
export const keyName = 'key.pem'
/** The file of the public key that others verify with. It may be copied to where the log is not. */
export const publicKeyName = 'key.pub.pem'
/** The file that records how far the log has come; also signed. */
export const headName = 'head.json'

/** Returns the name of that file for a ledger, by the ledger's name. */
export function headNameOf(ledger: string): string {
  return `head-${ledger}.json`
}

/** The key pair of one log. */
export interface LogKey {
  /** The name of the key in the log. */
  readonly id: string
  sign(text: string): string
}

/** The record of how far the log had come when this was written. */
export interface Head {
  readonly seq: number
  /** The hash of the line with that number. */
  readonly hash: string
  readonly key: string
  readonly signed: string
}

/** The keys that verify the log's signatures. */
export interface PublicKeys {
  /** The key that signs now; undefined when it is not there. */
  readonly id: string | undefined
  /** That key and those before it, by their names. */
  readonly all: ReadonlyMap<string, KeyObject>
  /** Those whose word counts; undefined for all. */
  readonly trusted?: ReadonlySet<string> | undefined
}

/** Opens the key of the log in a folder; makes it on first use. */
export async function openKey(folder: string): Promise<LogKey> {
  const path = join(folder, keyName)
  let pem = await keyText(path)
  if (pem === undefined) {
    pem = newKeyText()
    await replaceFile(join(folder, publicKeyName), publicText(pem))
    await replaceFile(path, pem)
  }
  return keyIn(path, () => keyOf(pem))
}

/** Reads the file of a key; undefined when there is none. One that cannot be read is not gone: a new one must not replace it. */
export async function keyText(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  })
}

/** Makes a key of a file's text. AppError `invalid` when there is none in it. */
function keyIn<K>(path: string, make: () => K): K {
  try {
    return make()
  } catch (cause) {
    throw new AppError('invalid', `${path} holds no key of the audit log; put back its copy`, { cause })
  }
}

/** Reads the public keys in a folder. */
export async function openPublicKeys(folder: string): Promise<PublicKeys> {
  const all = new Map<string, KeyObject>()
  let id: string | undefined
  const names: readonly string[] = await readdir(folder).catch(() => [])
  for (const name of names.filter((one) => /^key(-[0-9a-zA-Z_-]+)?\.pub\.pem$/.test(one))) {
    const path = join(folder, name)
    const text = await readFile(path, 'utf8')
    const key = keyIn(path, () => createPublicKey(text))
    all.set(keyId(key), key)
    if (name === publicKeyName) id = keyId(key)
  }
  return { id, all }
}

/** Reads public keys from their PEM texts, the present one last. A text that is no key signs nothing. */
export function publicKeysOf(texts: readonly string[]): PublicKeys {
  const all = new Map<string, KeyObject>()
  for (const text of texts) {
    try {
      const key = createPublicKey(text)
      all.set(keyId(key), key)
    } catch {
      // Callers find that the lines are signed with another key.
    }
  }
  return { id: [...all.keys()].at(-1) ?? '-', all }
}

/** Returns the public keys of a folder as PEM texts, the present one last. */
export async function publicTextsIn(folder: string): Promise<readonly string[]> {
  const { id, all } = await openPublicKeys(folder)
  const present = [...all].sort(([one], [other]) => Number(one === id) - Number(other === id))
  return present.map(([, key]) => key.export({ type: 'spki', format: 'pem' }) as string)
}

/** Reads a key pair from the PEM text of its private half. */
export function keyOf(pem: string): LogKey {
  const key = createPrivateKey(pem)
  return {
    id: keyId(createPublicKey(pem)),
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64url'),
  }
}

/** Returns a new private key as PEM text. */
export function newKeyText(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Returns the public half of a private key as PEM text. */
export function publicText(pem: string): string {
  return createPublicKey(pem).export({ type: 'spki', format: 'pem' }) as string
}

/** The head of another writer of the same log: its id, the number and hash of its last line, and the key it signed with. */
export type WriterHead = readonly [writer: string, seq: number, hash: string, key: string]

/** Returns the heads of others that moved since a writer named them, and whether that is worth a signature. */
export function newsOf(
  writers: readonly LedgerWriter[],
  mine: string,
  named: ReadonlyMap<string, number>,
): { readonly heads: readonly WriterHead[]; readonly isNews: boolean } {
  const moved = writers.filter(({ id, last }) => id !== mine && last > 0 && named.get(id) !== last)
  const heads = moved.map(
    ({ id, last, line = '', keys }) => [id, last, lineHash(line), publicKeysOf(keys).id!] as const,
  )
  // A checkpoint alone is no news: two writers would report theirs to each other for ever.
  const isNews = moved.some(
    ({ id, last, line = '' }) =>
      named.get(id) !== last - 1 || parseLine(Buffer.from(line))?.type !== 'audit.checkpoint',
  )
  return { heads, isNews }
}

/** The content that a checkpoint signs: its own number, the line before it, and how far concurrent writers had come. */
export interface CheckpointContent {
  readonly seq: number
  readonly prev: string
  readonly heads?: readonly WriterHead[] | undefined
}

/** Returns the event of a line that signs its number and the line before; `closed` when nothing follows until the next start. */
export function checkpoint(
  key: LogKey,
  time: string,
  content: CheckpointContent,
  closed: boolean,
): ToldEvent {
  const { heads } = content
  // Made here and not by `tellEvent`: a signature would be redacted.
  const data = {
    key: key.id,
    signed: key.sign(checkpointText(content)),
    heads,
    ...(closed && { closed }),
  }
  return toldBefore(randomId(), time, { type: 'audit.checkpoint', status: 'ok', user: 'system', data })
}

/** True when a line is a checkpoint that is signed with one of the keys. */
export function isCheckpoint({ type, seq, prev, data }: AuditLine, keys: PublicKeys): boolean {
  const { key: id, signed, heads } = data ?? {}
  const key = keys.all.get(String(id))
  if (type !== 'audit.checkpoint' || !key || typeof signed !== 'string') return false
  return isSigned(key, checkpointText({ seq, prev, heads: heads as CheckpointContent['heads'] }), signed)
}

/** True when a line ends a log whose daemon stopped in order: the head, which is signed, knows its hash. */
export function isClosing({ type, data }: AuditLine): boolean {
  return type === 'audit.checkpoint' && data?.['closed'] === true
}

/** Returns the text that a checkpoint line signs. */
function checkpointText({ seq, prev, heads }: CheckpointContent): string {
  const others = heads === undefined ? '' : `\n${JSON.stringify(heads)}`
  return `assistant-core audit checkpoint\n${seq}\n${prev}${others}`
}

/** True when a signature over the text was made with the key. */
export function isSigned(key: KeyObject, text: string, signed: string): boolean {
  return verify(null, Buffer.from(text), key, Buffer.from(signed, 'base64url'))
}

/** Writes how far the log has come. */
export async function writeHead(
  folder: string,
  key: LogKey,
  { seq, hash }: KnownLine,
  name = headName,
): Promise<void> {
  const head: Head = { seq, hash, key: key.id, signed: key.sign(headText(seq, hash)) }
  await replaceFile(join(folder, name), `${JSON.stringify(head)}\n`)
}

/** Reads how far the log had come; undefined when nothing says so, `forged` when the signature does not hold. */
export async function readHead(
  folder: string,
  keys: PublicKeys | undefined,
  name = headName,
): Promise<Head | 'forged' | undefined> {
  const text = await readFile(join(folder, name), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    const head = JSON.parse(text) as Head
    const key = keys?.all.get(head.key)
    if (keys?.id === undefined) return head
    return key && isSigned(key, headText(head.seq, head.hash), head.signed) ? head : 'forged'
  } catch {
    return 'forged'
  }
}

function headText(seq: number, hash: string): string {
  return `assistant-core audit head\n${seq}\n${hash}`
}

/** Returns the name of a key in the log. */
export function keyId(key: KeyObject): string {
  return sha256(key.export({ type: 'spki', format: 'der' })).slice(0, 16)
}
