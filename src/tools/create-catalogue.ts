import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { compileSchema } from '../core/schema.ts'
import { sha256 } from '../core/secrets.ts'
import type { Catalogue, OfferedTool, ToolAnnotations } from './catalogue.ts'
import { callThrough, type ToolEntry, findTool, type Gate, tellMalformed } from './gate.ts'
import { builtInTools } from './index.ts'
import { offerOf } from './offer.ts'
import { optionalTools } from './optional-tools.ts'
import { confirmationOf, settingOf } from './read-tools.ts'
import type { Tool, ToolCategory } from './tool.ts'

/** What a catalogue is made of: the tools, what the site says about them, and what they work with. */
export interface CatalogueParts extends Omit<Gate, 'entries' | 'present'> {
  readonly tools: readonly Tool[]
  /** The principal as it is by now; undefined once it may not use the service. */
  readonly current?: (principal: Principal) => Principal | undefined
  /** The catalogue of the newest snapshot. */
  readonly newest?: () => Catalogue
}

interface Offering {
  readonly tools: readonly OfferedTool[]
  readonly lacks: ReadonlySet<string>
  readonly digest: string
}

const builtInNames = builtInTools.map(({ name }) => name)

/** Bounds what is remembered per set of roles. */
const mostOfferings = 1000

/** The catalogue of one snapshot. Throws when a tool's schema is wrong or two tools share a name. */
export function createCatalogue(parts: CatalogueParts): Catalogue {
  const { tools, settings, current, newest } = parts
  const entries = new Map<string, ToolEntry>()
  for (const tool of [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entries.has(tool.name)) throw new AppError('conflict', `two tools are called "${tool.name}"`)
    const setting = settingOf(settings, tool.name)
    const annotations = annotationsOf(tool, setting?.category ?? tool.category)
    const offered = { tool, annotations, confirm: confirmationOf(settings, tool.name) }
    entries.set(tool.name, { offered, check: compileSchema(tool.input), setting })
  }
  const offerings = new Map<string, Offering>()

  function offeringOf(principal: Principal): Offering {
    // Whatever decides an offer but the settings, which are those of the snapshot.
    const key = `${principal.roleKey}\0${principal.readOnly ?? ''}\0${principal.toolLimit?.join('\n') ?? '*'}`
    const known = offerings.get(key)
    if (known) return known
    const mine = [...entries.values()]
      .map(({ offered }) => offered)
      .filter(({ tool }) => offerOf(principal, tool, settings).refusal === undefined)
    const lacks = new Set([...entries.keys(), ...builtInNames, ...optionalTools])
    for (const { tool } of mine) lacks.delete(tool.name)
    const offering = { tools: mine, lacks, digest: sha256(mine.map(definitionOf).join('\n')) }
    // Roles and limits come from the site, so there are few; a site with many must not fill the memory.
    if (offerings.size >= mostOfferings) offerings.clear()
    offerings.set(key, offering)
    return offering
  }

  const gate: Gate = {
    ...parts,
    entries,
    present: (principal, name) => {
      const now = current ? current(principal) : principal
      return now && typeof (newest?.() ?? catalogue).find(now, name) !== 'string' ? now : undefined
    },
  }
  const catalogue: Catalogue = {
    offered: (principal) => offeringOf(principal).tools,
    lacks: (principal) => offeringOf(principal).lacks,
    digest: (principal) => offeringOf(principal).digest,
    find: (principal, name) => {
      const found = findTool(gate, principal, name)
      return typeof found === 'string' ? found : found.offered
    },
    call: callThrough.bind(undefined, gate),
    tellMalformed: (principal, ...call) => tellMalformed(gate, principal, ...call),
  }
  return catalogue
}

/** What clients decide by whether to ask their user. */
export function annotationsOf(tool: Tool, category: ToolCategory): ToolAnnotations {
  return {
    title: tool.title,
    readOnlyHint: category === 'read_only',
    destructiveHint: category === 'privileged',
    idempotentHint: category === 'read_only' || (tool.idempotent ?? false),
    openWorldHint: tool.openWorld ?? false,
  }
}

/** Everything that a client sees of a tool, in one text. */
function definitionOf({ tool, annotations, confirm }: OfferedTool): string {
  const { name, title, description, input, output, largeOutput } = tool
  return JSON.stringify([name, title, description, input, output, largeOutput, annotations, confirm])
}
