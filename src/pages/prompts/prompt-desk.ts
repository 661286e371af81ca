/** The content and actions of the prompt pages: the same library, methods, limits and writer that programs have. */
import type { Needs } from '../../control/operation.ts'
import { AppError, tooMany } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { valueText } from '../../core/values.ts'
import { mayChange, requireEffect } from '../../library/access.ts'
import type { Channels } from '../../library/versions/channels.ts'
import { unifiedDiff } from '#leaf/diff.ts'
import { fileChanges, versionsApart } from '../../library/versions/history.ts'
import type { Library } from '../../library/library.ts'
import {
  mustPass,
  type PromptTestResult,
  runPromptTests,
  testFaults,
  testResults,
} from '../../library/prompts/prompt-tests.ts'
import { promptRow } from '../../library/prompts/prompt-rows.ts'
import { readInPart, type ReadTemplate } from '../../library/prompts/template-file.ts'
import { argumentRows } from '../../library/prompts/template-text.ts'
import { isStatusStep } from '../../library/versions/versions.ts'
import { type PromptArgument, promptStatuses, type PromptTemplate } from '../../library/words.ts'
import { faultsFor, mostTests } from '../../library/writing/writing-rules.ts'
import type { PromptWriter, WrittenPrompt } from '../../library/writing/writing.ts'
import { parseSource } from '#site/reading.ts'
import type { Fault } from '#site/site-files.ts'
import { askedOfferOf } from './prompt-offers.ts'
import { beginSketch, sketchFile, type Sketch } from './prompt-sketches.ts'
import type { InputKind, TypedField } from '#ui/forms.ts'
import { viewed } from '../documents/viewing.ts'

/** The dependencies of the prompt desk. */
export type PromptDeskParts = Needs<
  'site' | 'librarian' | 'promptMethods' | 'promptWriter' | 'previews' | 'audit' | 'limits' | 'refusalOf'
>

const mostChanges = 30

/** An argument of a prompt as a form asks for it, with its usual value. */
export type AskedArgument = TypedField & { readonly usual: string | readonly string[] }

/** The values given for arguments: a text each, or several where several may be chosen. */
export type GivenArguments = Readonly<Record<string, string | readonly string[]>>

/** Changes a prompt in a line of the library, by the writer that may write there. */
export type PromptChange = (
  writer: Omit<PromptWriter, 'showing'>,
  principal: Principal,
  line: string,
) => Promise<WrittenPrompt>

/** Makes a desk over the library in use, for pages that show and do. AppError `not_found` for what the principal may not see. */
export function createPromptDesk(parts: PromptDeskParts) {
  const { audit, promptMethods } = parts
  const channels = (): Channels => parts.site.current().library
  const seen = (principal: Principal): Library => channels().for(principal)
  const run = (principal: Principal, read: ReadTemplate): Promise<PromptTestResult[]> => {
    // Each test is a preview, and is counted as one.
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
    one: (user: Principal, id: string) =>
      viewed(audit, user, { type: 'prompt.view', target: id }, (principal) => shown(parts, principal, id)),
    /** Renders a preview. AppError `invalid` with `data.problems` of arguments. */
    preview: async (principal: Principal, id: string, given: GivenArguments) => {
      const library = seen(principal)
      const template = library.prompt(principal, id)
      return library.fit(principal, library.read(template.id), await preview(principal, template, given))
    },
    tests: (principal: Principal, id: string) =>
      run(principal, seen(principal).read(seen(principal).prompt(principal, id).id)),
    ...versionsSeen(seen),
    begin: (principal: Principal, id: string | undefined, line: string | undefined) =>
      beginSketch(parts.site.current(), principal, id, line),
    ...sketching(parts, { run, preview }),
    difference: (before: string, after: string) => unifiedDiff(before, after, 'the file now', 'yours'),
  }
}

/** The history of a prompt in the library that a principal sees. */
function versionsSeen(seen: (principal: Principal) => Library) {
  return {
    history: async (principal: Principal, id: string) => {
      const library = seen(principal)
      return fileChanges(library.line, library.read(library.prompt(principal, id).id), mostChanges)
    },
    /** Returns how two versions differ. AppError `not_found` without both. */
    apart: async (principal: Principal, id: string, from: number, to: number) => {
      const library = seen(principal)
      const diff = await versionsApart(library.line, library.prompt(principal, id).id, from, to)
      if (diff === undefined) throw new AppError('not_found', 'there is no such version')
      return { from, to, diff }
    },
  }
}

/** The operations on a text that is in no file yet. */
function sketching(
  parts: PromptDeskParts,
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
    /** Returns the arguments of a text; undefined when it cannot be read. */
    asks: (sketch: Sketch) => read(sketch, [])?.template.arguments.map(askedArgument),
    previewSketch: async (principal: Principal, sketch: Sketch, given: GivenArguments) => {
      const faults: Fault[] = []
      const found = read(sketch, faults)
      if (!found || faults.length > 0)
        throw new AppError('invalid', 'the text has faults', { data: { faults } })
      return preview(principal, found.template, given)
    },
    check: async (principal: Principal, sketch: Sketch) => {
      await withinPreviews(parts, principal)
      const channels = parts.site.current().library
      const { lineage } = channels.all().get(sketch.line) ?? channels.site
      const file = sketchFile(sketch)
      const { faults, warnings, read: found } = lineage.examine(file, Buffer.from(sketch.text))
      const told = faultsFor(principal, file, faults)
      const tests = found && told.length === 0 ? await run(principal, found) : []
      const failing = found && mustPass(found) ? testFaults(found, tests) : []
      return { faults: [...told, ...failing], warnings, tests }
    },
  }
}

/** Changes a prompt, in one's own line unless another is named, or shows the file where nothing may be written. */
export function changePrompt(
  { site, promptWriter }: PromptDeskParts,
  principal: Principal,
  change: PromptChange,
  named?: string,
): Promise<WrittenPrompt> {
  const { settings, library } = site.current()
  const line = named ?? library.writtenLine(library.lineOf(principal))
  // As for programs: a site that is pulled is written to elsewhere, and a branch by commits alone.
  const isBranch = library.all().get(line)?.lineage.branch !== undefined
  const isShown = settings.site.git.url !== null || (isBranch && !settings.git.commit)
  return change(isShown ? promptWriter.showing() : promptWriter, principal, line)
}

async function shown(parts: PromptDeskParts, principal: Principal, id: string) {
  const { site, librarian } = parts
  const channels = site.current().library
  const library = channels.for(principal)
  const template = library.prompt(principal, id)
  const read = library.read(template.id)
  const mayEdit = !template.isSystem && mayChange(principal, template)
  const steps = promptStatuses.filter((to) => to !== template.status && isStatusStep(template.status, to))
  return {
    ...promptRow(principal, template, await librarian.usage.of('prompt', template.id)),
    category_name: library.reading.categories.get(template.category ?? '')?.name ?? '',
    engine: template.engine,
    version: template.version,
    roles: template.sharedWithRoles,
    file: template.file,
    content: template.content,
    arguments: template.arguments.map(askedArgument),
    tests: read.tests.length,
    failing: (await testResults(read)).filter(({ ok }) => !ok),
    mayEdit,
    offer: await askedOfferOf(principal, template, parts),
    // The statuses that it may change to.
    steps: mayEdit ? steps : [],
  }
}

const kinds: Readonly<Record<PromptArgument['type'], InputKind>> = {
  string: 'text',
  number: 'number',
  boolean: 'yesno',
  select: 'select',
  multiselect: 'several',
  date: 'date',
  datetime: 'datetime',
  // Whoever tries a prompt types the JSON that an app would send, as a text.
  json: 'text',
  link: 'line',
}

function askedArgument(argument: PromptArgument): AskedArgument {
  const { name, label, type, required, description, allowedValues } = argument
  const usual = usualOf(argument.default)
  return { name, label, kind: kinds[type], required, description, options: allowedValues, usual }
}

function usualOf(value: unknown): string | readonly string[] {
  if (Array.isArray(value)) return value.map(String)
  return value === null ? '' : valueText(value)
}

/** Returns the parameters for the method that renders previews. */
function previewOf(template: PromptTemplate, given: object): object {
  return {
    template_content: template.content,
    rendering_engine: template.engine,
    arguments: given,
    declared_arguments: argumentRows(template.arguments),
  }
}

const anything = (): Promise<boolean> => Promise.resolve(true)

/** Takes one preview from its budget, as a preview costs more than other pages. AppError `unavailable`. */
async function withinPreviews({ limits, refusalOf }: PromptDeskParts, principal: Principal): Promise<void> {
  requireEffect(refusalOf, principal, 'preview_prompts')
  const { address, user } = principal
  const wait = await limits.secondsToWait('preview', { address: address ?? '', key: user })
  if (wait > 0) throw tooMany(wait)
}
