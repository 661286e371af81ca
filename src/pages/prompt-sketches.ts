/** Texts of prompts that somebody works on: where one may go, how it begins, and in which file it would stand. */
import { systemManager, type Principal } from '../core/principal.ts'
import { siteLine, type Channels } from '../library/channels.ts'
import { changeableTemplate } from '../library/writing-rules.ts'
import { folderOf } from '../library/writing.ts'
import type { Snapshot } from '../build/snapshot.ts'
import { AppError } from '../core/errors.ts'

/** A text that somebody works on, and where it is to go. */
export interface Sketch {
  readonly id: string
  /** Whether there is no such prompt yet. */
  readonly isNew: boolean
  readonly line: string
  readonly file: string
  readonly text: string
}

/** A text as somebody begins to work on it. */
export interface BegunSketch extends Sketch {
  /** The digest of the file it was taken from. */
  readonly began: string
  readonly lines: readonly WritableLine[]
}

/** Where a change may go: the site itself, or the branch of a channel. */
interface WritableLine {
  readonly line: string
  /** undefined for the site itself. */
  readonly branch?: string
}

/** A template's text as somebody begins to edit it, or a new one. AppError `not_found`, `forbidden`. */
export function beginSketch(
  { library: channels, settings }: Pick<Snapshot, 'library' | 'settings'>,
  principal: Principal,
  id: string | undefined,
  asked: string | undefined,
): BegunSketch {
  const own = channels.writtenLine(channels.lineOf(principal))
  const line = asked ?? own
  const lines = linesFor(channels, principal, id, settings.git.commit)
  if (!lines.some((one) => one.line === line))
    throw new AppError('not_found', `there is no prompt "${id ?? ''}" there`)
  if (id === undefined)
    return {
      id: '',
      isNew: true,
      line,
      lines,
      file: `${folderOf(principal)}/….md`,
      text: newText(principal),
      began: '',
    }
  const { template, read, began } = changeableTemplate(principal, channels.all().get(line)!, id)
  const text = new TextDecoder().decode(read.document.bytes).replaceAll('\r\n', '\n')
  return { id, isNew: false, line, lines, file: template.file, text, began }
}

/** The site, the line that the principal sees, and for a System Manager every branch. */
function linesFor(
  channels: Channels,
  principal: Principal,
  id: string | undefined,
  commits: boolean,
): WritableLine[] {
  const isManager = principal.roles.has(systemManager)
  return [...channels.all()].flatMap(([line, { lineage, templates }]) => {
    const { branch } = lineage
    if (line === siteLine) return [{ line }]
    if (branch === undefined || !commits || (id !== undefined && !templates.has(id))) return []
    return isManager || line === channels.lineOf(principal) ? [{ line, branch }] : []
  })
}

function newText(principal: Principal): string {
  return `---
title: ''
description: ''
status: Draft
visibility: Private
owner: ${principal.user}
arguments:
  - argument_name: topic
    display_label: Topic
    is_required: 1
---
Write about {{ topic }}.
`
}

/** Where a sketch stands, or would. */
export function sketchFile({ isNew, id, file }: Sketch): string {
  return isNew ? file.replace('….md', `${id}.md`) : file
}
