/** Sketches, the texts of prompts that somebody works on: where one may go, how it begins, and the file it would be in. */
import { systemManager, type Principal } from '../../core/principal.ts'
import { siteLine, type Channels } from '../../library/versions/channels.ts'
import { changeableTemplate } from '../../library/writing/writing-rules.ts'
import { folderOf } from '../../library/writing/own-names.ts'
import type { Snapshot } from '../../house/snapshot.ts'
import { AppError } from '#leaf/errors.ts'
import { isLanguage } from '#ui/pages.ts'
import { messages } from '../views.ts'

/** A text that somebody works on, and the place where it is to go. */
export interface Sketch {
  readonly id: string
  /** True when there is no such prompt yet. */
  readonly isNew: boolean
  readonly line: string
  readonly file: string
  readonly text: string
}

/** A sketch as somebody begins to work on it. */
export interface BegunSketch extends Sketch {
  /** The digest of the file from which it was taken. */
  readonly began: string
  readonly lines: readonly WritableLine[]
}

/** A place where a change may go: the site itself, or the branch of a channel. */
interface WritableLine {
  readonly line: string
  /** The branch; undefined for the site itself. */
  readonly branch?: string
}

/** Begins to edit a template's text, or a new one. AppError `not_found`, `forbidden`. */
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

/** Returns the site, the line that the principal sees, and for a System Manager every branch. */
function linesFor(
  channels: Channels,
  principal: Principal,
  id: string | undefined,
  commits: boolean,
): WritableLine[] {
  const isManager = principal.roles.has(systemManager)
  return [...channels.all()].flatMap(([line, library]) => {
    const { branch } = library.lineage
    if (line === siteLine) return [{ line }]
    if (branch === undefined || !commits || (id !== undefined && !library.find(principal.user, id))) return []
    return isManager || line === channels.lineOf(principal) ? [{ line, branch }] : []
  })
}

function newText({ user, language }: Principal): string {
  const { text } = messages[isLanguage(language) ? language : 'en']
  return `---
title: ''
description: ''
status: Draft
visibility: Private
owner: ${user}
arguments:
  - argument_name: topic
    display_label: ${text('prompts.new_label')}
    is_required: 1
---
${text('prompts.new_text')}
`
}

/** Returns the file in which a sketch is, or would be. */
export function sketchFile({ isNew, id, file }: Sketch): string {
  return isNew ? file.replace('….md', `${id}.md`) : file
}
