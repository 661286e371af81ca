import { AppError } from '#leaf/errors.ts'
import { recordable } from '#audit/recording.ts'
import { bounded } from '#leaf/pattern.ts'
import { effects } from '../../core/effects.ts'
import type { Principal } from '../../core/principal.ts'
import { compileSchema } from '#leaf/schema.ts'
import { sha256 } from '#leaf/secrets.ts'
import type { Catalogue, OfferedTool, ToolAnnotations } from './catalogue.ts'
import { callThrough, type ToolEntry, findTool, type Gate, tellMalformed } from './gate.ts'
import { builtInTools } from '../index.ts'
import { offerOf, offerOfEffect } from './offer.ts'
import { optionalTools } from './optional-tools.ts'
import { portable } from '#leaf/portable-schema.ts'
import { confirmationOf, settingOf } from './read-tools.ts'
import { secrecyOfCall } from './telling.ts'
import type { Tool, ToolCategory } from '../tool.ts'

/** The parts of a catalogue: the tools, the site's settings for them, and their dependencies. */
export interface CatalogueParts extends Omit<Gate, 'entries' | 'present' | 'lacks'> {
  readonly tools: readonly Tool[]
  /** Returns the principal as of now; undefined once it may not use the service. */
  readonly current?: (principal: Principal) => Principal | undefined
  /** Returns the catalogue of the newest snapshot. */
  readonly newest?: () => Catalogue
}

interface Offering {
  readonly tools: readonly OfferedTool[]
  readonly lacks: ReadonlySet<string>
  readonly digest: string
}

const builtInNames = builtInTools.map(({ name }) => name)

/** The most offers that are cached, by set of roles. */
const mostOfferings = 1000

/** Makes the catalogue of one snapshot. Throws when a tool's schema is wrong or two tools share a name. */
export function createCatalogue(parts: CatalogueParts): Catalogue {
  const { tools, settings, current, newest } = parts
  const entries = new Map<string, ToolEntry>()
  for (const tool of [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (Object.hasOwn(effects, tool.name))
      throw new AppError('conflict', `"${tool.name}" is no name for a tool: it means what is none`)
    if (entries.has(tool.name)) throw new AppError('conflict', `two tools are called "${tool.name}"`)
    const setting = settingOf(settings, tool.name)
    const annotations = annotationsOf(tool, setting?.category ?? tool.category)
    const listedInput = listedOf(tool)
    const offered = { tool, listedInput, annotations, confirm: confirmationOf(settings, tool.name) }
    const check = compileSchema(tool.input)
    entries.set(tool.name, { offered, check: (args) => bounded(() => check(args)), setting })
  }
  const documents = { ...parts.documents, unrecorded: unrecordedBy(parts) }
  const offeringOf = offeringsOf(entries, settings)

  const gate: Gate = {
    ...parts,
    documents,
    entries,
    lacks: (principal) => offeringOf(principal).lacks,
    present: (principal, name, person) => {
      const now = current ? current(principal) : principal
      return now && typeof (newest?.() ?? catalogue).find(now, name, person) !== 'string' ? now : undefined
    },
  }
  const catalogue: Catalogue = {
    offered: (principal) => offeringOf(principal).tools,
    lacks: gate.lacks,
    digest: (principal) => offeringOf(principal).digest,
    find: (principal, name, person) => {
      const found = findTool(gate, principal, name, person)
      return typeof found === 'string' ? found : found.offered
    },
    effect: (principal, name) => offerOfEffect(principal, name, settings),
    call: callThrough.bind(undefined, gate),
    recorded: (name, args) => recordable(args, secrecyOfCall(gate, name)),
    tellMalformed: (principal, ...call) => tellMalformed(gate, principal, ...call),
  }
  return catalogue
}

/** Returns the function that says what is offered to a principal; it asks the evaluator once for all with the same roles. */
function offeringsOf(
  entries: Gate['entries'],
  settings: Gate['settings'],
): (principal: Principal) => Offering {
  const offerings = new Map<string, Offering>()
  let last:
    (Pick<Principal, 'roleKey' | 'readOnly' | 'toolLimit'> & { readonly offering: Offering }) | undefined

  function offeringOf(principal: Principal): Offering {
    // Requests may ask for endlessly many sets of tools, so those are not cached.
    if (principal.narrowing) return offeringTo(principal, entries, settings)
    const { roleKey, readOnly, toolLimit } = principal
    // A call asks several times, and its texts are those of the question before.
    if (last?.roleKey === roleKey && last.readOnly === readOnly && last.toolLimit === toolLimit)
      return last.offering
    const offering = keptOfferingOf(principal)
    last = { roleKey, readOnly, toolLimit, offering }
    return offering
  }

  function keptOfferingOf(principal: Principal): Offering {
    // The key has all that decides an offer except the settings, which are those of the snapshot.
    const key = `${principal.roleKey}\0${principal.readOnly ?? ''}\0${principal.toolLimit?.join('\n') ?? '*'}`
    const known = offerings.get(key)
    if (known) return known
    const offering = offeringTo(principal, entries, settings)
    // Roles and limits come from the site, so there are few; a site with many must not fill the memory.
    if (offerings.size >= mostOfferings) offerings.clear()
    offerings.set(key, offering)
    return offering
  }

  return offeringOf
}

/** Asks the evaluator about every tool. */
function offeringTo(principal: Principal, entries: Gate['entries'], settings: Gate['settings']): Offering {
  const mine = [...entries.values()]
    .map(({ offered }) => offered)
    .filter(({ tool }) => offerOf(principal, tool, settings).refusal === undefined)
  const lacks = new Set([...entries.keys(), ...builtInNames, ...optionalTools])
  for (const { tool } of mine) lacks.delete(tool.name)
  return { tools: mine, lacks, digest: sha256(mine.map(definitionOf).join('\n')) }
}

/** Returns the fields that no event keeps: what a tool writes into `data.salary` comes again as a change of salary. */
function unrecordedBy({ documents, settings }: Pick<Gate, 'documents' | 'settings'>): ReadonlySet<string> {
  const paths = [...settings.settings.values()].flatMap(({ redact = [] }) => redact)
  const written = paths.map((path) => path.split('.')).filter((parts) => parts.slice(0, -1).includes('data'))
  return new Set([...documents.platform.confidential, ...written.map((parts) => parts.at(-1)!)])
}

function listedOf({ input, unlisted = [], asWritten }: Tool): Readonly<Record<string, unknown>> {
  if (asWritten) return input
  const { schema } = portable(input)
  const properties = Object.entries(schema['properties'] ?? {}).filter(([name]) => !unlisted.includes(name))
  return unlisted.length === 0 ? schema : { ...schema, properties: Object.fromEntries(properties) }
}

/** Returns the annotations by which clients decide whether to ask their user. */
export function annotationsOf(tool: Tool, category: ToolCategory): ToolAnnotations {
  return {
    title: tool.title,
    readOnlyHint: category === 'read_only',
    destructiveHint: category === 'privileged' || (tool.destructive ?? false),
    idempotentHint: category === 'read_only' || (tool.idempotent ?? false),
    openWorldHint: tool.openWorld ?? false,
  }
}

/** Returns everything that a client sees of a tool, in one text. */
function definitionOf({ tool, annotations, confirm }: OfferedTool): string {
  const { name, title, description, input, output, largeOutput } = tool
  return JSON.stringify([name, title, description, input, output, largeOutput, annotations, confirm])
}
