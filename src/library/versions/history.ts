import { isoTime } from '#leaf/clock.ts'
import { parseSource } from '#site/reading.ts'
import { unifiedDiff } from '#leaf/diff.ts'
import type { PromptTemplate } from '../words.ts'
import type { LibraryReading } from '../check-library.ts'
import { readInPart, type ReadTemplate } from '../prompts/template-file.ts'
import { versionText } from '../prompts/template-text.ts'
import { isStatusStep, notCommitted, type PromptVersion, type VersionLine } from './versions.ts'

/** One version as people read it. */
export interface PromptHistoryEntry {
  /** null for what is not committed. */
  readonly version: number | null
  readonly title: string
  readonly rendering_engine: string
  /** E-mail address, `assistant-core …`, `working tree` outside of git, or `not committed`. */
  readonly author: string
  /** ISO 8601; null for what is not committed. */
  readonly time: string | null
  readonly commit: string | null
  /** True for the version in use. */
  readonly current: boolean
  /** The change since the version before, as a unified diff; empty for the first. */
  readonly diff: string
}

type Comparable = Pick<PromptTemplate, 'title' | 'engine' | 'arguments' | 'content'>

/** Returns a template's newest versions, newest first, each with its diff to the one before; uncommitted work comes first. */
export async function versionHistory(
  line: VersionLine,
  template: PromptTemplate,
  limit: number,
): Promise<PromptHistoryEntry[]> {
  const kept = (await line.history(template.id, limit + 1)).map((version) => ({
    version,
    was: templateOf(version),
  }))
  const isOpen = template.version === null
  const all = [...(isOpen ? [{ version: undefined, was: template }] : []), ...kept]
  return all
    .slice(0, limit)
    .map(({ version, was }, index) => entryOf(version, was, all[index + 1], template.version))
}

/** One change of a template's file. */
export interface FileChange {
  /** The number of its version; null for what is not committed. */
  readonly version: number | null
  /** True when the version began with this change. */
  readonly begins: boolean
  readonly author: string
  /** Milliseconds since the epoch. */
  readonly time?: number
  readonly subject: string
  /** The change of the file, as a unified diff; empty for the first. */
  readonly diff: string
}

/** Returns the newest changes of a template's file, newest first; uncommitted work comes first. */
export async function fileChanges(
  line: VersionLine,
  { template, document }: Pick<ReadTemplate, 'template' | 'document'>,
  limit: number,
): Promise<FileChange[]> {
  const kept = await line.changes(template.id, limit + 1)
  const now = text(document.bytes)
  const isOpen = kept[0] !== undefined && plain(kept[0].source) !== now
  const open = { number: null, author: notCommitted, source: now }
  return [...(isOpen ? [open] : []), ...kept].slice(0, limit).map((change, index) => {
    const before = kept[isOpen ? index : index + 1]
    const { number, author } = change
    return {
      version: number,
      begins: number !== null && number !== before?.number,
      author,
      ...('time' in change && { time: change.time }),
      subject: 'subject' in change ? (change.subject ?? '') : '',
      diff:
        before === undefined
          ? ''
          : unifiedDiff(plain(before.source), plain(change.source), nameOf(before.number), nameOf(number)),
    }
  })
}

/** The versions back from the newest that are compared with others. */
export const mostCompared = 200

/** Returns how a template's file differs between two of its versions, as a unified diff; undefined without both. */
export async function versionsApart(
  line: VersionLine,
  template: string,
  from: number,
  to: number,
): Promise<string | undefined> {
  const [newest] = await line.history(template, 1)
  const limit = Math.min(mostCompared, (newest?.number ?? 0) - Math.min(from, to) + 1)
  const kept = limit > 0 ? await line.history(template, limit) : []
  const [before, after] = [from, to].map((version) => kept.find(({ number }) => number === version))
  if (!before || !after) return undefined
  return unifiedDiff(plain(before.source), plain(after.source), nameOf(from), nameOf(to))
}

function entryOf(
  version: PromptVersion | undefined,
  was: Comparable,
  before: { readonly version: PromptVersion | undefined; readonly was: Comparable } | undefined,
  current: number | null,
): PromptHistoryEntry {
  const number = version?.number ?? null
  return {
    version: number,
    title: was.title,
    rendering_engine: was.engine,
    author: version?.author ?? notCommitted,
    time: version ? isoTime(version.time) : null,
    commit: version?.commit ?? null,
    current: number === current,
    diff:
      before === undefined
        ? ''
        : unifiedDiff(
            versionText(before.was),
            versionText(was),
            nameOf(before.version?.number),
            nameOf(number),
          ),
  }
}

function nameOf(version: number | null | undefined): string {
  return version == null ? notCommitted : `version ${version}`
}

/** Reads the template of a version, as far as this release can read it. */
function templateOf({ file, source }: PromptVersion): Comparable {
  const { document } = parseSource(file, Buffer.from(source))
  const read = document && readInPart(document, [])
  return read?.template ?? { title: '', engine: 'Raw', arguments: [], content: source }
}

/** The difference of one template between two readings of the library. */
export interface TemplateDifference {
  readonly id: string
  readonly kind: 'added' | 'removed' | 'changed'
  readonly file: string
  /** True when the change makes a new version (specification §9.5). */
  readonly newVersion: boolean
  readonly status?: { readonly from: string; readonly to: string; readonly allowed: boolean }
  /** The difference of the files, as a unified diff. */
  readonly diff: string
}

/** Returns the changes from one reading of the library to another, by prompt_id; built-in templates, equal in both, drop out. */
export function libraryDifference(
  before: LibraryReading,
  after: LibraryReading,
  names: { readonly before: string; readonly after: string },
): TemplateDifference[] {
  const ids = [...new Set([...before.templates.keys(), ...after.templates.keys()])].sort()
  return ids.flatMap((id): TemplateDifference[] => {
    const [old, now] = [before.templates.get(id), after.templates.get(id)]
    const oldText = old ? text(old.document.bytes) : ''
    const nowText = now ? text(now.document.bytes) : ''
    if (oldText === nowText) return []
    const status = old && now && { from: old.template.status, to: now.template.status }
    return [
      {
        id,
        kind: !old ? 'added' : !now ? 'removed' : 'changed',
        file: (now ?? old)!.template.file,
        newVersion: old?.fingerprint !== now?.fingerprint && now !== undefined,
        ...(status &&
          status.from !== status.to && {
            status: { ...status, allowed: isStatusStep(status.from, status.to) },
          }),
        diff: unifiedDiff(
          oldText,
          nowText,
          `${names.before}:${old?.template.file ?? '-'}`,
          `${names.after}:${now?.template.file ?? '-'}`,
        ),
      },
    ]
  })
}

function text(bytes: Uint8Array): string {
  return plain(new TextDecoder().decode(bytes))
}

function plain(source: string): string {
  return source.replaceAll('\r\n', '\n')
}
