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
export async function finishKeyChange(folder: string): Promise<void> {
  const next = await openNextKey(folder)
  if (next && (await lastKeyChange(folder))?.to === next.id) await takeNextKey(folder)
}

async function handedOver(folder: string, from: string, to: string): Promise<boolean> {
  const change = await lastKeyChange(folder)
  const key = (await openPublicKeys(folder)).all.get(from)
  const told = change?.from === from && change.to === to && typeof change.signed === 'string'
  return told && key !== undefined && isSigned(key, keyChangeText(from, to), change.signed as string)
}

async function lastKeyChange(folder: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  return (await tailAudit(folder, 1, { type: 'audit.key' }))[0]?.data
}

/** What the state knows to have been there and is not; undefined when nothing is missing. */
export async function whatIsMissing(
  folder: string,
  key: string,
  known: KnownLog | undefined,
  { expected, found }: { readonly expected: number; readonly found: number },
): Promise<string | undefined> {
  const sameKey = !known || known.key === key || (await handedOver(folder, known.key, key))
  if (sameKey && expected <= found) return undefined
  const ends = `it ends at line ${found}, and line ${expected} had been written`
  return sameKey ? ends : `${ends}; it was signed with key ${known.key}, and now key ${key} lies there`
}
