import { isoTime } from '../core/clock.ts'
import { unifiedDiff } from './diff.ts'
import type { PromptTemplate } from './words.ts'
import type { LibraryReading } from './read-library.ts'
import { versionText } from './template-text.ts'
import { isStatusStep, type PromptVersion, type Versions } from './versions.ts'

/** One version as people read it. */
export interface HistoryEntry {
  readonly version: number
  readonly title: string
  readonly rendering_engine: string
  /** E-mail address, or `working tree` while the file is not committed. */
  readonly author: string
  /** ISO 8601. */
  readonly time: string
  readonly commit: string | null
  /** Whether it is the version in use. */
  readonly current: boolean
  /** What changed since the version before, as a unified diff; empty for the first. */
  readonly diff: string
}

/** The newest versions of a template, newest first, each with its difference to the one before. */
export async function versionHistory(
  versions: Versions,
  template: PromptTemplate,
  limit: number,
): Promise<HistoryEntry[]> {
  const found = await versions.history(template.id, limit + 1)
  return found.slice(0, limit).map((version, index) => entryOf(version, found[index + 1], template))
}

function entryOf(
  version: PromptVersion,
  before: PromptVersion | undefined,
  current: PromptTemplate,
): HistoryEntry {
  return {
    version: version.number,
    title: version.title,
    rendering_engine: version.engine,
    author: version.author,
    time: isoTime(version.time),
    commit: version.commit ?? null,
    current: version.number === current.version,
    diff:
      before === undefined
        ? ''
        : unifiedDiff(
            versionText(before),
            versionText(version),
            `version ${before.number}`,
            `version ${version.number}`,
          ),
  }
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
  return new TextDecoder().decode(bytes).replaceAll('\r\n', '\n')
}
