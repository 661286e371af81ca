import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  type Document,
  isMap,
  isScalar,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLMap,
} from 'yaml'
import { AppError } from '#leaf/errors.ts'
import { settingsVersion } from '../core/settings.ts'
import { convert, oldSection, renames } from './old-settings.ts'
import { parseSource, reasonOf, rewriteFile } from '#site/reading.ts'
import { readSettings, settingsFile } from './read-settings.ts'
import { faultText, type Fault } from '#site/site-files.ts'

/** The result of a migration. */
export interface MigratedSettings {
  /** False when the file has today's layout already; `text` is then unchanged. */
  readonly changed: boolean
  readonly text: string
  /** One sentence for each change. */
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

// All keys are read as texts, whatever they look like.
type Section = YAMLMap<Scalar<string>, Node | null>
type Entry = Pair<Scalar<string>, Node | null>

/** Returns the settings' text in today's layout. The text must be free of faults. A second run changes nothing. */
export function migrateSettings(text: string): MigratedSettings {
  const document = parseDocument(text.replaceAll('\r\n', '\n'), { stringKeys: true })
  const changes: string[] = []
  if (isMap(document.contents)) {
    const root = document.contents as unknown as Section
    const old = root.items.find(({ key }) => key.value === oldSection)
    const version = document.get('version')
    if (old) moveOldSection(document, root, old, changes)
    if (version !== settingsVersion && (old || version !== undefined)) {
      if (version === undefined) root.items.unshift(entryOf(document, 'version', settingsVersion))
      else document.set('version', settingsVersion)
      changes.push(`version is now ${settingsVersion}`)
    }
  }
  if (changes.length === 0) return { changed: false, text, changes }
  const written = document.toString({ lineWidth: 0 })
  return { changed: true, text: text.includes('\r\n') ? written.replaceAll('\n', '\r\n') : written, changes }
}

function moveOldSection(document: Document, root: Section, pair: Entry, changes: string[]): void {
  const section = isMap(pair.value) ? (pair.value as unknown as Section) : undefined
  const old = section ? [...section.items] : []
  const lost: string[] = []
  const stays = section !== undefined && !root.has('oauth')
  if (stays) {
    // The section itself becomes the new one, and so keeps the comments around it.
    section.items = []
    pair.key.value = 'oauth'
  } else {
    const place = root.items.indexOf(pair)
    root.items.splice(place, 1)
    // Its comments, above it and at its end, move above its successor; those inside move with its entries.
    const lone = isScalar(pair.value) ? pair.value.commentBefore : undefined
    const comments = joined(pair.key.commentBefore, lone, pair.value?.comment)
    const next = root.items[place]?.key
    if (next) next.commentBefore = joined(comments, next.commentBefore)
    else root.comment = joined(comments, root.comment)
  }
  for (const [index, entry] of old.entries()) {
    const key = entry.key.value
    const renamed = renames.get(key)
    if (!renamed) {
      const value: unknown = isScalar(entry.value) ? entry.value.value : '…'
      lost.push(joined(entry.key.commentBefore, ` ${key}: ${JSON.stringify(value)} (has no effect any more)`))
      changes.push(`${oldSection}.${key} has no effect any more and is kept as a comment`)
      continue
    }
    const [name = '', newKey = ''] = renamed.split('.')
    const target = sectionOf(document, root, name)
    entry.key.value = newKey
    // The parser attaches the comment above the first entry of a map to the map.
    if (index === 0 && section !== target)
      entry.key.commentBefore = joined(section?.commentBefore, entry.key.commentBefore)
    entry.value = convertedNode(document, renamed, entry.value)
    target.items.push(entry)
    changes.push(`${oldSection}.${key} is now ${renamed}`)
  }
  if (lost.length > 0) {
    const target = sectionOf(document, root, 'oauth')
    target.comment = joined(target.comment, ...lost)
  }
  if (stays && section.items.length === 0) section.flow = true
}

function joined(...comments: readonly (string | null | undefined)[]): string {
  return comments.filter(Boolean).join('\n')
}

/** Returns the node with its value in today's form; comments around it and the quotes of a text stay. */
function convertedNode(document: Document, renamed: string, node: Node | null): Node | null {
  const value: unknown = node?.toJS(document) ?? null
  const converted = convert(renamed, value)
  if (!('value' in converted) || converted.value === value) return node
  const created = document.createNode(converted.value) as Node & { flow?: boolean }
  if (isScalar(node)) Object.assign(created, { comment: node.comment, commentBefore: node.commentBefore })
  if (Array.isArray(converted.value) && converted.value.length === 0) created.flow = true
  return created
}

function sectionOf(document: Document, root: Section, name: string): Section {
  let entry = root.items.find(({ key }) => key.value === name)
  if (!entry) root.items.push((entry = entryOf(document, name, {})))
  if (!isMap(entry.value)) entry.value = document.createNode({})
  const section = entry.value as unknown as Section
  // A comment does not fit into `{}`, so the section is written as a block.
  section.flow = false
  return section
}

function entryOf(document: Document, key: string, value: unknown): Entry {
  return document.createPair(key, value) as unknown as Entry
}
