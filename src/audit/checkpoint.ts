/**
 * Signatures over the chain. A checkpoint is a line that signs its own number and the hash of the line
 * before it, and with that everything before it. The head is a small file beside the log that says how
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
import { replaceFile } from '../core/files.ts'
import { randomId, sha256 } from '../core/secrets.ts'
import type { KnownLine } from './known-log.ts'
import { type ToldEvent, toldBefore } from './line.ts'

/** The private key that signs; readable for the daemon alone. */
export const keyName = 'key.pem'
/** What others verify with. It may be copied to where the log is not. */
export const publicKeyName = 'key.pub.pem'
/** How far the log has come, signed as well. */
export const headName = 'head.json'

/** The same of a ledger, by its name. */
export function headNameOf(ledger: string): string {
  return `head-${ledger}.json`
}

/** The pair of keys of one log. */
export interface LogKey {
  /** Names the key in the log. */
  readonly id: string
  sign(text: string): string
}

/** How far the log had come when this was written. */
export interface Head {
  readonly seq: number
  /** The hash of the line with that number. */
  readonly hash: string
  readonly key: string
  readonly signed: string
}

/** The keys with which the log's signatures are checked. */
export interface PublicKeys {
  /** The one that signs now; undefined when it is not there. */
  readonly id: string | undefined
  /** That and those before it, by their names. */
  readonly all: ReadonlyMap<string, KeyObject>
}

/** The key of the log in a folder, made on first use. */
export async function openKey(folder: string): Promise<LogKey> {
  const path = join(folder, keyName)
  let pem = await readFile(path, 'utf8').catch(() => undefined)
  if (pem === undefined) {
    pem = newKeyText()
    await replaceFile(join(folder, publicKeyName), publicText(pem))
    await replaceFile(path, pem)
  }
  return keyOf(pem)
}

/** The public keys that lie in a folder. */
export async function openPublicKeys(folder: string): Promise<PublicKeys> {
  const all = new Map<string, KeyObject>()
  let id: string | undefined
  const names: readonly string[] = await readdir(folder).catch(() => [])
  for (const name of names.filter((one) => /^key(-[0-9a-zA-Z_-]+)?\.pub\.pem$/.test(one))) {
    const key = createPublicKey(await readFile(join(folder, name), 'utf8'))
    all.set(keyId(key), key)
    if (name === publicKeyName) id = keyId(key)
  }
  return { id, all }
}

/** Public keys as they are written, the present one last. What is no key signs nothing. */
export function publicKeysOf(texts: readonly string[]): PublicKeys {
  const all = new Map<string, KeyObject>()
  for (const text of texts) {
    try {
      const key = createPublicKey(text)
      all.set(keyId(key), key)
    } catch {
      // Whoever asks finds that the lines are signed with another.
    }
  }
  return { id: [...all.keys()].at(-1) ?? '-', all }
}

/** The public keys of a folder as they are written, the present one last. */
export async function publicTextsIn(folder: string): Promise<readonly string[]> {
  const { id, all } = await openPublicKeys(folder)
  const present = [...all].sort(([one], [other]) => Number(one === id) - Number(other === id))
  return present.map(([, key]) => key.export({ type: 'spki', format: 'pem' }) as string)
}

/** A pair of keys, as its private half is written. */
export function keyOf(pem: string): LogKey {
  const key = createPrivateKey(pem)
  return {
    id: keyId(createPublicKey(pem)),
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64url'),
  }
}

/** A new private key, as it is written. */
export function newKeyText(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** The public half of a private key, as it is written. */
export function publicText(pem: string): string {
  return createPublicKey(pem).export({ type: 'spki', format: 'pem' }) as string
}

/** How far another writer of the same log had come, and with which key it signed: its id, number, hash and key. */
export type WriterHead = readonly [writer: string, seq: number, hash: string, key: string]

/** What a checkpoint signs: its own number, the line before it, and how far the others had come that write beside it. */
export interface CheckpointContent {
  readonly seq: number
  readonly prev: string
  readonly heads?: readonly WriterHead[] | undefined
}

/** The event of a line that signs its number and the line before it. */
export function checkpoint(key: LogKey, time: string, content: CheckpointContent): ToldEvent {
  const { heads } = content
  // Made here and not told by anybody: a signature would be redacted.
  const data = { key: key.id, signed: key.sign(checkpointText(content)), heads }
  return toldBefore(randomId(), time, { type: 'audit.checkpoint', status: 'ok', user: 'system', data })
}

/** What a checkpoint line signs. */
export function checkpointText({ seq, prev, heads }: CheckpointContent): string {
  const others = heads === undefined ? '' : `\n${JSON.stringify(heads)}`
  return `assistant-core audit checkpoint\n${seq}\n${prev}${others}`
}

/** Whether a signature over the text was made with the key. */
export function isSigned(key: KeyObject, text: string, signed: string): boolean {
  return verify(null, Buffer.from(text), key, Buffer.from(signed, 'base64url'))
}

/** Says how far the log has come. */
export async function writeHead(
  folder: string,
  key: LogKey,
  { seq, hash }: KnownLine,
  name = headName,
): Promise<void> {
  const head: Head = { seq, hash, key: key.id, signed: key.sign(headText(seq, hash)) }
  await replaceFile(join(folder, name), `${JSON.stringify(head)}\n`)
}

/** How far the log had come; undefined when nothing says so, `forged` when the signature does not hold. */
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

/** The name of a key in the log. */
export function keyId(key: KeyObject): string {
  return sha256(key.export({ type: 'spki', format: 'der' })).slice(0, 16)
}
