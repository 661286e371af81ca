/** What the pages of prompts show and do: the same library, methods, limits and writer that programs have. */
import type { Audit } from '../audit/audit.ts'
import { eventOf, refusalOf } from '../audit/event.ts'
import { AppError } from '../core/errors.ts'
import { systemManager, type Principal } from '../core/principal.ts'
import { valueText } from '../core/values.ts'
import { mayChange } from '../library/access.ts'
import { siteLine, type Channels } from '../library/channels.ts'
import { unifiedDiff } from '../library/diff.ts'
import { fileChanges } from '../library/history.ts'
import type { Library } from '../library/library.ts'
import { runPromptTests, type PromptTestResult } from '../library/prompt-tests.ts'
import { promptRow } from '../library/prompt-rows.ts'
import { readInPart, type ReadTemplate } from '../library/template-file.ts'
import { argumentRows } from '../library/template-text.ts'
import { isStatusStep } from '../library/versions.ts'
import type { PromptArgument, PromptStatus, PromptTemplate } from '../library/words.ts'
import { changeableTemplate, faultsFor } from '../library/writing-rules.ts'
import { folderOf, type WrittenPrompt } from '../library/writing.ts'
import type { RateLimits } from '../oauth/rate-limits.ts'
import type {
  AskedArgument,
  BegunSketch,
  PromptChange,
  PromptDesk,
  ShownPrompt,
  Sketch,
  WritableLine,
} from '../pages/prompts-endpoint.ts'
import { parseSource } from '../site/parse-source.ts'
import type { Fault } from '../site/site-files.ts'
import type { House } from './house.ts'
import { viewed } from './viewing.ts'

/** What the desk works with. */
export interface PromptDeskParts extends Pick<
  House,
  'site' | 'librarian' | 'promptMethods' | 'promptWriter' | 'previews'
> {
  readonly audit: Audit
  readonly limits: RateLimits
}

const statuses: readonly PromptStatus[] = ['Draft', 'Published', 'Deprecated', 'Archived']
const mostFound = 1000
const mostChanges = 30
/** Each test is a preview, and is paid for as one. */
const mostTests = 20

/** The desk over the library in use. */
export function createPromptDesk(parts: PromptDeskParts): PromptDesk {
  const { audit, promptMethods } = parts
  const channels = (): Channels => parts.site.current().library
  const seen = (principal: Principal): Library => channels().for(principal)
  const run = (principal: Principal, read: ReadTemplate): Promise<PromptTestResult[]> => {
    const tests = read.tests.slice(0, mostTests)
    return runPromptTests([{ ...read, tests }], async ({ template }, args) => {
      await withinPreviews(parts, principal)
      return parts.previews.render(principal.user, JSON.stringify(previewOf(template, args)), anything)
    })
  }
  const preview = async (principal: Principal, template: PromptTemplate, given: object): Promise<string> => {
    await withinPreviews(parts, principal)
    return promptMethods.preview_template.call(principal, previewOf(template, given))
  }
  return {
    find: (user, question) =>
      viewed(audit, user, { type: 'prompt.view', data: { question } }, async (principal) => {
        const { query, category, status } = question
        const asked = { query, status, ...(category !== '' && { category }), limit: mostFound }
        return {
          prompts: await promptMethods.search_prompts.call(principal, asked),
          categories: await promptMethods.get_category_tree.call(principal, {}),
        }
      }),
    one: (user, id) =>
      viewed(audit, user, { type: 'prompt.view', target: id }, (principal) => shown(parts, principal, id)),
    preview: async (principal, id, given) => {
      const library = seen(principal)
      const template = library.prompt(principal, id)
      return library.fit(principal, library.read(id), await preview(principal, template, given))
    },
    tests: (principal, id) => run(principal, seen(principal).read(seen(principal).prompt(principal, id).id)),
    history: async (principal, id) => {
      const library = seen(principal)
      return fileChanges(library.line, library.read(library.prompt(principal, id).id), mostChanges)
    },
    begin: (principal, id, line) => Promise.resolve(begun(parts, principal, id, line)),
    ...sketching(parts, { run, preview }),
    difference: (before, after) => unifiedDiff(before, after, 'the file now', 'yours'),
    change: async (principal, change) => {
      try {
        return await changed(parts, principal, change)
      } catch (error) {
        const target = 'sketch' in change ? change.sketch.id : change.id
        const event = { type: `prompt.${nounOf(change)}`, target: target.slice(0, 200) }
        if (error instanceof AppError)
          await audit.record(eventOf(principal, { ...event, ...refusalOf(error) }))
        throw error
      }
    },
  }
}

/** What is done with a text that stands in no file yet. */
function sketching(
  { site }: PromptDeskParts,
  {
    run,
    preview,
  }: {
    readonly run: (principal: Principal, read: ReadTemplate) => Promise<PromptTestResult[]>
    readonly preview: (principal: Principal, template: PromptTemplate, given: object) => Promise<string>
  },
): Pick<PromptDesk, 'asks' | 'previewSketch' | 'check'> {
  const read = (sketch: Sketch, found: Fault[]): ReadTemplate | undefined => {
    const { document, faults } = parseSource(fileOf(sketch), Buffer.from(sketch.text))
    found.push(...faults)
    return document && readInPart(document, found)
  }
  return {
    asks: (sketch) => read(sketch, [])?.template.arguments.map(askedArgument),
    previewSketch: async (principal, sketch, given) => {
      const faults: Fault[] = []
      const found = read(sketch, faults)
      if (!found || faults.length > 0)
        throw new AppError('invalid', 'the text has faults', { data: { faults } })
      return preview(principal, found.template, given)
    },
    check: async (principal, sketch) => {
      const channels = site.current().library
      const { lineage } = channels.all().get(sketch.line) ?? channels.site
      const file = fileOf(sketch)
      const { faults, warnings, read: found } = lineage.examine(file, Buffer.from(sketch.text))
      const told = faultsFor(principal, file, faults)
      const tests = found && told.length === 0 ? await run(principal, found) : []
      return { faults: told, warnings, tests }
    },
  }
}

function changed(
  { site, promptWriter }: PromptDeskParts,
  principal: Principal,
  change: PromptChange,
): Promise<WrittenPrompt> {
  const { settings, library } = site.current()
  const writer = settings.git.commit ? promptWriter : promptWriter.showing()
  const line = library.writtenLine(library.lineOf(principal))
  switch (change.kind) {
    case 'duplicate':
      return writer.duplicate(principal, change.id, line)
    case 'version':
      return writer.createVersion(principal, change.id, change.note, line)
    case 'restore':
      return writer.restore(principal, change.id, change.version, line)
    case 'status': {
      const status = statuses.find((known) => known === change.status)
      if (!status) throw new AppError('invalid', 'there is no such status')
      return writer.setStatus(principal, change.id, status, line)
    }
  }
  const { sketch, began, note } = change
  const { id, text } = sketch
  return sketch.isNew
    ? writer.create(principal, id, { text, note }, sketch.line)
    : writer.edit(principal, id, { text, began, note }, sketch.line)
}

async function shown(
  { site, librarian }: PromptDeskParts,
  principal: Principal,
  id: string,
): Promise<ShownPrompt> {
  const channels = site.current().library
  const library = channels.for(principal)
  const template = library.prompt(principal, id)
  const mayEdit = !template.isSystem && mayChange(principal, template)
  const steps = statuses.filter((to) => to !== template.status && isStatusStep(template.status, to))
  return {
    ...promptRow(template, await librarian.usage.of('prompt', id)),
    category_name: library.reading.categories.get(template.category ?? '')?.name ?? '',
    engine: template.engine,
    version: template.version,
    roles: template.sharedWithRoles,
    file: template.file,
    content: template.content,
    arguments: template.arguments.map(askedArgument),
    tests: library.read(id).tests.length,
    mayEdit,
    steps: mayEdit ? steps : [],
  }
}

/** A template's text as somebody begins to edit it, or a new one. AppError `not_found`, `forbidden`. */
function begun(
  { site }: PromptDeskParts,
  principal: Principal,
  id: string | undefined,
  asked: string | undefined,
): BegunSketch {
  const { library: channels, settings } = site.current()
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
function fileOf({ isNew, id, file }: Sketch): string {
  return isNew ? file.replace('….md', `${id}.md`) : file
}

/** As the writer calls what it has done. */
function nounOf(change: PromptChange): string {
  return change.kind === 'save' ? (change.sketch.isNew ? 'create' : 'edit') : change.kind
}

function askedArgument(argument: PromptArgument): AskedArgument {
  return {
    name: argument.name,
    label: argument.label,
    type: argument.type,
    required: argument.required,
    description: argument.description,
    usual: usualOf(argument.default),
    options: argument.allowedValues,
  }
}

function usualOf(value: unknown): string | readonly string[] {
  if (Array.isArray(value)) return value.map(String)
  return value === null ? '' : valueText(value)
}

/** What the method of previews is asked with. */
function previewOf(template: PromptTemplate, given: object): object {
  return {
    template_content: template.content,
    rendering_engine: template.engine,
    arguments: given,
    declared_arguments: argumentRows(template.arguments),
  }
}

const anything = (): Promise<boolean> => Promise.resolve(true)

/** A preview costs more than other pages. AppError `unavailable`. */
async function withinPreviews({ limits }: PromptDeskParts, { address, user }: Principal): Promise<void> {
  const wait = await limits.secondsToWait('preview', { address: address ?? '', key: user })
  if (wait > 0) throw new AppError('unavailable', `too many requests; try again in ${wait} seconds`)
}
