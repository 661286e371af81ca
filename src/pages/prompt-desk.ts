/** What the pages of prompts show and do: the same library, methods, limits and writer that programs have. */
import type { Audit } from '../audit/audit.ts'
import { eventOf, refusalOf } from '../audit/event.ts'
import type { House } from '../build/house.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { valueText } from '../core/values.ts'
import { mayChange } from '../library/access.ts'
import type { Channels } from '../library/channels.ts'
import { unifiedDiff } from '../library/diff.ts'
import { fileChanges } from '../library/history.ts'
import type { Library } from '../library/library.ts'
import { runPromptTests, type PromptTestResult } from '../library/prompt-tests.ts'
import { promptRow } from '../library/prompt-rows.ts'
import { readInPart, type ReadTemplate } from '../library/template-file.ts'
import { argumentRows } from '../library/template-text.ts'
import { isStatusStep } from '../library/versions.ts'
import { type PromptArgument, promptStatuses, type PromptTemplate } from '../library/words.ts'
import { faultsFor } from '../library/writing-rules.ts'
import type { WrittenPrompt } from '../library/writing.ts'
import type { RateLimits } from '../oauth/rate-limits.ts'
import { parseSource } from '../site/parse-source.ts'
import type { Fault } from '../site/site-files.ts'
import { beginSketch, sketchFile, type Sketch } from './prompt-sketches.ts'
import { viewed } from './viewing.ts'

/** What the desk works with. */
export interface PromptDeskParts extends Pick<
  House,
  'site' | 'librarian' | 'promptMethods' | 'promptWriter' | 'previews'
> {
  readonly audit: Audit
  readonly limits: RateLimits
}

const mostFound = 1000
const mostChanges = 30
/** Each test is a preview, and is paid for as one. */
const mostTests = 20

/** Which prompts somebody looks for. */
export interface PromptQuestion {
  readonly query: string
  readonly category: string
  readonly status: string
}

/** One argument of a prompt as a form asks for it. */
export type AskedArgument = ReturnType<typeof askedArgument>

/** What was given for arguments: a text each, or several where several may be chosen. */
export type GivenArguments = Readonly<Record<string, string | readonly string[]>>

/** What people change about a prompt. */
export type PromptChange =
  | { readonly kind: 'save'; readonly sketch: Sketch; readonly began: string; readonly note: string }
  | { readonly kind: 'duplicate'; readonly id: string }
  | { readonly kind: 'version'; readonly id: string; readonly note: string }
  | { readonly kind: 'status'; readonly id: string; readonly status: string }
  | { readonly kind: 'restore'; readonly id: string; readonly version: number }

/** Where the pages get what they show and do; AppError `not_found` for what the principal may not see. */
export type PromptDesk = ReturnType<typeof createPromptDesk>

/** The desk over the library in use. */
export function createPromptDesk(parts: PromptDeskParts) {
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
    find: (user: Principal, question: PromptQuestion) =>
      viewed(audit, user, { type: 'prompt.view', data: { question } }, async (principal) => {
        const { query, category, status } = question
        const asked = { query, status, ...(category !== '' && { category }), limit: mostFound }
        return {
          prompts: await promptMethods.search_prompts.call(principal, asked),
          categories: await promptMethods.get_category_tree.call(principal, {}),
        }
      }),
    one: (user: Principal, id: string) =>
      viewed(audit, user, { type: 'prompt.view', target: id }, (principal) => shown(parts, principal, id)),
    /** AppError `invalid` with `data.problems` of arguments. */
    preview: async (principal: Principal, id: string, given: GivenArguments) => {
      const library = seen(principal)
      const template = library.prompt(principal, id)
      return library.fit(principal, library.read(id), await preview(principal, template, given))
    },
    tests: (principal: Principal, id: string) =>
      run(principal, seen(principal).read(seen(principal).prompt(principal, id).id)),
    history: async (principal: Principal, id: string) => {
      const library = seen(principal)
      return fileChanges(library.line, library.read(library.prompt(principal, id).id), mostChanges)
    },
    begin: (principal: Principal, id: string | undefined, line: string | undefined) =>
      beginSketch(parts.site.current(), principal, id, line),
    ...sketching(parts, { run, preview }),
    difference: (before: string, after: string) => unifiedDiff(before, after, 'the file now', 'yours'),
    change: async (principal: Principal, change: PromptChange) => {
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
) {
  const read = (sketch: Sketch, found: Fault[]): ReadTemplate | undefined => {
    const { document, faults } = parseSource(sketchFile(sketch), Buffer.from(sketch.text))
    found.push(...faults)
    return document && readInPart(document, found)
  }
  return {
    /** What a text asks for; undefined when it cannot be read. */
    asks: (sketch: Sketch) => read(sketch, [])?.template.arguments.map(askedArgument),
    previewSketch: async (principal: Principal, sketch: Sketch, given: GivenArguments) => {
      const faults: Fault[] = []
      const found = read(sketch, faults)
      if (!found || faults.length > 0)
        throw new AppError('invalid', 'the text has faults', { data: { faults } })
      return preview(principal, found.template, given)
    },
    check: async (principal: Principal, sketch: Sketch) => {
      const channels = site.current().library
      const { lineage } = channels.all().get(sketch.line) ?? channels.site
      const file = sketchFile(sketch)
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
      const status = promptStatuses.find((known) => known === change.status)
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

async function shown({ site, librarian }: PromptDeskParts, principal: Principal, id: string) {
  const channels = site.current().library
  const library = channels.for(principal)
  const template = library.prompt(principal, id)
  const mayEdit = !template.isSystem && mayChange(principal, template)
  const steps = promptStatuses.filter((to) => to !== template.status && isStatusStep(template.status, to))
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
    // What its status may become.
    steps: mayEdit ? steps : [],
  }
}

/** As the writer calls what it has done. */
function nounOf(change: PromptChange): string {
  return change.kind === 'save' ? (change.sketch.isNew ? 'create' : 'edit') : change.kind
}

function askedArgument(argument: PromptArgument) {
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
