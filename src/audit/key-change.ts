/** How the key of a log changes: the old one signs for the new one, and the log tells of it before it counts. */
import { createPublicKey } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../core/files.ts'
import { randomId } from '../core/secrets.ts'
import {
  isSigned,
  keyId,
  keyName,
  keyOf,
  type LogKey,
  newKeyText,
  openPublicKeys,
  publicKeyName,
  publicText,
} from './checkpoint.ts'
import type { KnownLog } from './known-log.ts'
import type { LogPlace } from './ledger-lines.ts'
import { type ToldEvent, toldBefore } from './line.ts'
import { tailAudit } from './search.ts'

/** Where the next key lies until the log tells that it has changed. */
const nextKeyName = 'key.next.pem'

/** Makes the key that is to follow, beside the one that signs; it counts when `takeNextKey` is called. */
export async function makeNextKey(folder: string): Promise<LogKey> {
  const pem = newKeyText()
  await replaceFile(join(folder, nextKeyName), pem)
  return keyOf(pem)
}

/** Puts the next key in the place of the present one, whose public half is kept to check what it signed. */
export async function takeNextKey(folder: string): Promise<void> {
  const before = await readFile(join(folder, publicKeyName), 'utf8')
  const pem = await readFile(join(folder, nextKeyName), 'utf8')
  await replaceFile(join(folder, `key-${keyId(createPublicKey(before))}.pub.pem`), before)
  await replaceFile(join(folder, publicKeyName), publicText(pem))
  await replaceFile(join(folder, keyName), pem)
  await rm(join(folder, nextKeyName))
}

/** The public half of the next key, as it is written. */
export async function nextPublicText(folder: string): Promise<string> {
  return publicText(await readFile(join(folder, nextKeyName), 'utf8'))
}

async function openNextKey(folder: string): Promise<LogKey | undefined> {
  const pem = await readFile(join(folder, nextKeyName), 'utf8').catch(() => undefined)
  return pem === undefined ? undefined : keyOf(pem)
}

/** The event by which a key hands over to the next: the old one signs for the new one. */
export function keyChange(from: LogKey, to: LogKey, time: string): ToldEvent {
  const data = { from: from.id, to: to.id, signed: from.sign(keyChangeText(from.id, to.id)) }
  return toldBefore(randomId(), time, { type: 'audit.key', status: 'ok', user: 'system', data })
}

/** What the old key signs. */
export function keyChangeText(from: string, to: string): string {
  return `assistant-core audit key\n${from}\n${to}`
}

/** A change of keys that a crash cut off counts when the log tells of it. */
export async function finishKeyChange(folder: string, place: LogPlace): Promise<void> {
  const next = await openNextKey(folder)
  if (next && (await keyChanges(place, next.id)).length > 0) await takeNextKey(folder)
}

async function handedOver(folder: string, place: LogPlace, from: string, to: string): Promise<boolean> {
  const [change] = await keyChanges(place, to)
  const key = (await openPublicKeys(folder)).all.get(from)
  const told = change?.['from'] === from && typeof change['signed'] === 'string'
  return told && key !== undefined && isSigned(key, keyChangeText(from, to), change['signed'] as string)
}

/** What the log tells of the last changes of keys, if it was to this key. */
async function keyChanges(
  place: LogPlace,
  to: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  // Where several write, others change their keys too.
  const most = typeof place === 'string' ? 1 : Infinity
  const changes = (await tailAudit(place, most, { type: 'audit.key' })).map(({ data = {} }) => data)
  return changes.filter((change) => change['to'] === to)
}

/** What the state knows to have been there and is not; undefined when nothing is missing. */
export async function whatIsMissing(
  folder: string,
  place: LogPlace,
  key: string,
  known: KnownLog | undefined,
  { expected, found }: { readonly expected: number; readonly found: number },
): Promise<string | undefined> {
  const sameKey = !known || known.key === key || (await handedOver(folder, place, known.key, key))
  if (sameKey && expected <= found) return undefined
  const ends = `it ends at line ${found}, and line ${expected} had been written`
  return sameKey ? ends : `${ends}; it was signed with key ${known.key}, and now key ${key} lies there`
}
