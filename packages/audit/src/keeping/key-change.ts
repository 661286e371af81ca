/** Changes the key of a log: the old key signs for the new one, and the log records it before it counts. */
import { createPublicKey } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '#leaf/files.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Ledger } from '#state/store.ts'
import {
  isSigned,
  keyId,
  keyName,
  keyOf,
  keyText,
  type LogKey,
  newKeyText,
  openPublicKeys,
  publicKeyName,
  publicText,
} from '../checkpoint.ts'
import { FileLedger } from '../files/file-ledger.ts'
import type { KnownLog } from '../verifying/known-log.ts'
import { type ToldEvent, toldBefore } from '../line.ts'
import { tailAudit } from '../finding/search.ts'

/** The file of the next key until the log records that it has changed. */
const nextKeyName = 'key.next.pem'

/** Makes the next key, beside the one that signs; it counts when `takeNextKey` is called. */
export async function makeNextKey(folder: string): Promise<LogKey> {
  const pem = newKeyText()
  await replaceFile(join(folder, nextKeyName), pem)
  return keyOf(pem)
}

/** Replaces the present key with the next; keeps the old public half to verify what that key signed. */
export async function takeNextKey(folder: string): Promise<void> {
  const before = await readFile(join(folder, publicKeyName), 'utf8')
  const pem = await readFile(join(folder, nextKeyName), 'utf8')
  await replaceFile(join(folder, `key-${keyId(createPublicKey(before))}.pub.pem`), before)
  await replaceFile(join(folder, publicKeyName), publicText(pem))
  await replaceFile(join(folder, keyName), pem)
  await rm(join(folder, nextKeyName))
}

/** Returns the public half of the next key as PEM text. */
export async function nextPublicText(folder: string): Promise<string> {
  return publicText(await readFile(join(folder, nextKeyName), 'utf8'))
}

async function openNextKey(folder: string): Promise<LogKey | undefined> {
  const pem = await keyText(join(folder, nextKeyName))
  return pem === undefined ? undefined : keyOf(pem)
}

/** Returns the event that hands over from a key to the next: the old one signs for the new one. */
export function keyChange(from: LogKey, to: LogKey, time: string): ToldEvent {
  const data = { from: from.id, to: to.id, signed: from.sign(keyChangeText(from.id, to.id)) }
  return toldBefore(randomId(), time, { type: 'audit.key', status: 'ok', user: 'system', data })
}

/** Returns the text that the old key signs. */
export function keyChangeText(from: string, to: string): string {
  return `assistant-core audit key\n${from}\n${to}`
}

/** Finishes a change of keys that a crash cut off, when the log records it. */
export async function finishKeyChange(folder: string, ledger: Ledger): Promise<void> {
  const next = await openNextKey(folder)
  if (next && (await keyChanges(ledger, next.id)).length > 0) await takeNextKey(folder)
}

async function handedOver(folder: string, ledger: Ledger, from: string, to: string): Promise<boolean> {
  const [change] = await keyChanges(ledger, to)
  const key = (await openPublicKeys(folder)).all.get(from)
  const told = change?.['from'] === from && typeof change['signed'] === 'string'
  return told && key !== undefined && isSigned(key, keyChangeText(from, to), change['signed'] as string)
}

/** Returns what the log records of the last changes of keys, if they were to this key. */
async function keyChanges(ledger: Ledger, to: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  // Where several daemons write, others change their keys too.
  const most = ledger instanceof FileLedger ? 1 : Infinity
  const changes = (await tailAudit(ledger, most, { type: 'audit.key' })).map(({ data = {} }) => data)
  return changes.filter((change) => change['to'] === to)
}

/** Returns what the state knows to have been there and is missing; undefined when nothing is. */
export async function whatIsMissing(
  folder: string,
  ledger: Ledger,
  key: string,
  known: KnownLog | undefined,
  { expected, found }: { readonly expected: number; readonly found: number },
): Promise<string | undefined> {
  const sameKey = !known || known.key === key || (await handedOver(folder, ledger, known.key, key))
  if (sameKey && expected <= found) return undefined
  const ends = `it ends at line ${found}, and line ${expected} had been written`
  return sameKey ? ends : `${ends}; it was signed with key ${known.key}, and now key ${key} lies there`
}
