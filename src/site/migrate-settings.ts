import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isMap, isScalar, parseDocument, Scalar } from 'yaml'
import type { Document, Pair, YAMLMap } from 'yaml'
import { AppError } from '../core/errors.ts'
import { settingsVersion } from '../core/settings.ts'
import { convert, oldSection, oldSettings } from './old-settings.ts'
import { parseSource } from './parse-source.ts'
import { readSettings, settingsFile } from './read-settings.ts'
import { reasonOf } from './list-site.ts'
import { rewriteFile } from './rewrite-file.ts'
import { faultText, type Fault } from './site-files.ts'

/** What migrating comes to. */
export interface MigratedSettings {
  /** false: the file has today's layout, and `text` is what it was. */
  readonly changed: boolean
  readonly text: string
  /** One sentence for each thing that was done. */
  readonly changes: readonly string[]
}

/**
 * Rewrites the site's settings into today's layout, keeping comments and order (specification §9.4).
 * A dry run writes nothing. AppError `invalid` with `data.faults` when the settings have faults before or
 * after; the file is then left as it is.
 */
export async function migrateSiteSettings(
  site: string,
  options: { readonly dryRun: boolean },
): Promise<MigratedSettings> {
  const path = join(resolve(site), settingsFile)
  let before: string
  try {
    before = await readFile(path, 'utf8')
  } catch (error) {
    throw new AppError('invalid', `cannot read ${settingsFile}: ${reasonOf(error)}`, { cause: error })
  }
  checkText(before)
  const migration = migrateSettings(before)
  checkText(migration.text)
  if (!migration.changed || options.dryRun) return migration
  if ((await readFile(path, 'utf8')) !== before) {
    throw new AppError('conflict', `${settingsFile} was changed meanwhile; run it again`)
  }
  await rewriteFile(path, migration.text)
  return migration
}

function checkText(text: string): void {
  const bytes = Buffer.from(text)
  const { document, faults: own } = parseSource(settingsFile, bytes)
  const faults: Fault[] = [...own]
  const documents = new Map(document ? [[settingsFile, document]] : [])
  readSettings({ folder: '/', documents, assets: new Map(), faults: own, digest: '' }, faults, [])
  if (faults.length === 0) return
  throw new AppError(
    'invalid',
    `settings with faults are not migrated: ${faults.map(faultText).join('; ')}`,
    {
      data: { faults },
    },
  )
}

/** The settings' text in today's layout. The text must be free of faults. Doing it again changes nothing. */
export function migrateSettings(text: string): MigratedSettings {
  const document = parseDocument(text.replaceAll('\r\n', '\n'), { stringKeys: true })
  const root = document.contents
  const changes: string[] = []
  if (isMap(root)) {
    const old = root.items.findIndex((pair) => nameOf(pair) === oldSection)
    if (old >= 0) moveOldSection(document, root, old, changes)
    const version = root.get('version')
    if (old >= 0 || (typeof version === 'number' && version < settingsVersion)) {
      setVersion(document, root, changes)
    }
  }
  if (changes.length === 0) return { changed: false, text, changes }
  const written = document.toString({ lineWidth: 0 })
  return { changed: true, text: text.includes('\r\n') ? written.replaceAll('\n', '\r\n') : written, changes }
}

function moveOldSection(document: Document, root: YAMLMap, place: number, changes: string[]): void {
  const pair = root.items[place] as Pair
  const section = pair.value
  const old = isMap(section) ? [...section.items] : []
  const lost: string[] = []
  const stays = isMap(section) && root.get('oauth') === undefined
  if (stays) {
    // The section itself becomes the new one, and so keeps what is written around it.
    section.items = []
    renameKey(pair, 'oauth')
  } else {
    root.items.splice(place, 1)
    keepComment(root, place, commentsAround(pair))
  }

  for (const [index, entry] of old.entries()) {
    const key = nameOf(entry)
    const setting = oldSettings.get(key)
    if (!setting) {
      const value: unknown = isScalar(entry.value) ? entry.value.value : '…'
      if (isScalar(entry.key) && entry.key.commentBefore) lost.push(entry.key.commentBefore)
      lost.push(` ${key}: ${JSON.stringify(value)} (has no effect any more)`)
      changes.push(`${oldSection}.${key} has no effect any more and is kept as a comment`)
      continue
    }
    const [name, newKey] = setting.to
    const target = sectionOf(document, root, name)
    // The comment above the first entry of a map belongs, to the parser, to the map.
    const above = index === 0 && isMap(section) && section !== target ? section.commentBefore : undefined
    target.items.push(movedPair(document, entry, newKey, convertedOf(setting.kind, entry), above))
    changes.push(`${oldSection}.${key} is now ${name}.${newKey}`)
  }
  if (lost.length > 0) {
    const target = sectionOf(document, root, 'oauth')
    target.comment = [target.comment, ...lost]
      .filter((line) => line !== undefined && line !== null)
      .join('\n')
  }
  if (stays && section.items.length === 0) section.flow = true
}

/** The comments on a section as a whole, above it and at its end; those inside move with its entries. */
function commentsAround({ key, value }: Pair): string {
  const above = isScalar(key) ? key.commentBefore : undefined
  const lone = isScalar(value) ? value.commentBefore : undefined
  const end = isScalar(value) || isMap(value) ? value.comment : undefined
  return [above, lone, end].filter((comment) => comment).join('\n')
}

/** Puts the comment of an entry that is gone above the entry that stands in its place, or at the end. */
function keepComment(root: YAMLMap, place: number, comment: string): void {
  if (comment === '') return
  const next = root.items[place]?.key
  const join = (other: string | null | undefined): string => (other ? `${comment}\n${other}` : comment)
  if (isScalar(next)) next.commentBefore = join(next.commentBefore)
  else root.comment = join(root.comment)
}

function convertedOf(kind: Parameters<typeof convert>[0], entry: Pair): unknown {
  const value: unknown = isScalar(entry.value) ? entry.value.value : jsonOf(entry.value)
  const converted = convert(kind, value ?? null)
  return 'value' in converted ? converted.value : value
}

function movedPair(
  document: Document,
  entry: Pair,
  key: string,
  value: unknown,
  above?: string | null,
): Pair {
  const node = document.createNode(value)
  const before = entry.value
  if (isScalar(before)) {
    if (before.comment) node.comment = before.comment
    if (before.commentBefore) node.commentBefore = before.commentBefore
    // Text keeps its quotes; text that became a list or a switch does not have any.
    if (isScalar(node) && typeof value === 'string' && before.type) node.type = before.type
  }
  if (Array.isArray(value) && value.length === 0 && 'flow' in node) node.flow = true
  const moved = document.createPair(key, null) as Pair
  moved.value = node
  const oldKey = entry.key
  if (isScalar(oldKey) && isScalar(moved.key)) {
    const comment = [above, oldKey.commentBefore].filter((part) => part).join('\n')
    if (comment) moved.key.commentBefore = comment
    if (oldKey.spaceBefore) moved.key.spaceBefore = true
  }
  return moved
}

function sectionOf(document: Document, root: YAMLMap, name: string): YAMLMap {
  const present = root.items.find((pair) => nameOf(pair) === name)
  if (present && isMap(present.value)) {
    // A comment does not fit into `{}`.
    present.value.flow = false
    return present.value
  }
  const created = document.createNode({}) as YAMLMap
  if (present) present.value = created
  else root.items.push(document.createPair(name, created))
  return created
}

function setVersion(document: Document, root: YAMLMap, changes: string[]): void {
  const present = root.items.find((pair) => nameOf(pair) === 'version')
  if (present && isScalar(present.value)) {
    if (present.value.value === settingsVersion) return
    present.value.value = settingsVersion
    if ('source' in present.value) delete present.value.source
  } else {
    root.items.unshift(document.createPair('version', settingsVersion))
  }
  changes.push(`version is now ${settingsVersion}`)
}

function renameKey(pair: Pair, name: string): void {
  if (isScalar(pair.key)) pair.key.value = name
  else pair.key = new Scalar(name)
}

function nameOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : ''
}

function jsonOf(node: unknown): unknown {
  return typeof node === 'object' && node !== null && 'toJSON' in node && typeof node.toJSON === 'function'
    ? (node.toJSON() as unknown)
    : node
}
