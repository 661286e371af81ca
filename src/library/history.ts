import { isoTime } from '../core/clock.ts'
import { parseSource } from '../site/parse-source.ts'
import { unifiedDiff } from './diff.ts'
import type { PromptTemplate } from './words.ts'
import type { LibraryReading } from './check-library.ts'
import { readInPart, type ReadTemplate } from './template-file.ts'
import { versionText } from './template-text.ts'
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
  /** Whether it is the version in use. */
  readonly current: boolean
  /** What changed since the version before, as a unified diff; empty for the first. */
  readonly diff: string
}

type Comparable = Pick<PromptTemplate, 'title' | 'engine' | 'arguments' | 'content'>

/** The newest versions of a template, newest first, each with its difference to the one before; first what is not committed. */
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
  /** The version that it belongs to; null for what is not committed. */
  readonly version: number | null
  /** Whether the version began with it. */
  readonly begins: boolean
  readonly author: string
  /** Milliseconds since the epoch. */
  readonly time?: number
  readonly subject: string
  /** What changed in the file, as a unified diff; empty for the first. */
  readonly diff: string
}

/** The newest changes of a template's file, newest first; first what is not committed. */
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

/** What a version was, as far as it can be read by this release. */
function templateOf({ file, source }: PromptVersion): Comparable {
  const { document } = parseSource(file, Buffer.from(source))
  const read = document && readInPart(document, [])
  return read?.template ?? { title: '', engine: 'Raw', arguments: [], content: source }
}

/** How one template differs between two readings of the library. */
export interface TemplateDifference {
  readonly id: string
  readonly kind: 'added' | 'removed' | 'changed'
  readonly file: string
  /** Whether the change makes a new version (specification §9.5). */
  readonly newVersion: boolean
  readonly status?: { readonly from: string; readonly to: string; readonly allowed: boolean }
  /** Of the files, as a unified diff. */
  readonly diff: string
}

/** What changed from one reading of the library to another, by prompt_id; what is built in is not looked at twice. */
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
