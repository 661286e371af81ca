/** A catalogue over the shipped company, and calls as a client makes them. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Principal } from '../../src/core/principal.ts'
import { AppError } from '#leaf/errors.ts'
import { compileSchema } from '#leaf/schema.ts'
import { Stop } from '#leaf/stop.ts'
import type { Documents } from '../../src/documents/documents.ts'
import type { RunSql } from '../../src/documents/reports/run-sql.ts'
import { readSite } from '#site/read-site.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'
import { createCalls } from '../../src/tools/gate/calls.ts'
import type { Caller, Catalogue, ToolOutcome } from '../../src/tools/gate/catalogue.ts'
import { createCatalogue } from '../../src/tools/gate/create-catalogue.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { readToolSettings } from '../../src/tools/gate/read-tools.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { type Company, openCompany, root, silent, siteOf } from '../documents/trading-company.ts'

export interface Office extends Company {
  readonly catalogue: Catalogue
  readonly logged: { message: string; fields: unknown }[]
  /** Calls a tool through the gate, as the MCP endpoint does. */
  readonly call: (
    principal: Principal,
    name: string,
    args?: unknown,
    caller?: Partial<Caller>,
  ) => Promise<ToolOutcome>
  /** The JSON of an outcome that must not be an error. */
  readonly answer: (principal: Principal, name: string, args?: unknown) => Promise<Record<string, any>>
}

export async function openOffice(
  t: TestContext,
  options: {
    files?: SiteFiles
    tools?: readonly Tool[]
    toolsYaml?: string
    limits?: Partial<Limits>
    maxResultBytes?: number
    runSql?: RunSql
    quota?: Documents['quota']
    current?: (principal: Principal) => Principal | undefined
  } = {},
): Promise<Office> {
  const company = await openCompany(t, {
    ...(options.files && { files: options.files }),
    ...(options.runSql && { runSql: options.runSql }),
    ...(options.quota && { quota: options.quota }),
  })
  const tools = options.tools ?? builtInTools
  const files =
    options.toolsYaml !== undefined
      ? siteOf({ 'config/tools.yaml': options.toolsYaml })
      : (options.files ?? (await (shipped ??= readSite(root))))
  const faults: Fault[] = []
  const people = company.platform.people
  const settings = readToolSettings(files, faults, { names: tools.map((tool) => tool.name), people })
  if (options.tools === undefined && faults.length > 0) throw new Error(JSON.stringify(faults))
  const logged: { message: string; fields: unknown }[] = []
  const catalogue = createCatalogue({
    tools,
    settings,
    limits: { timeout_seconds: 60, max_concurrent_per_user: 8, max_result_bytes: 100_000, ...options.limits },
    documents: company.documents,
    audit: company.documents.audit,
    clock: company.clock,
    log: { ...silent, error: (message, fields) => logged.push({ message, fields }) },
    calls: createCalls(),
    maxResultBytes: options.maxResultBytes ?? 2048,
    ...(options.current && { current: options.current }),
  })
  const call: Office['call'] = async (principal, name, args = {}, caller = {}) => {
    // Nothing else may be left that keeps a test's process: the time limit of a call does not.
    const held = setInterval(() => undefined, 60_000)
    try {
      const outcome = await catalogue.call(principal, name, args, { ...quiet(), ...caller })
      requireShape(tools, name, outcome)
      return outcome
    } finally {
      clearInterval(held)
    }
  }
  return {
    ...company,
    catalogue,
    logged,
    call,
    answer: async (principal, name, args) => {
      const outcome = await call(principal, name, args)
      if (outcome.isError) throw new Error(outcome.text)
      return JSON.parse(outcome.text) as Record<string, any>
    },
  }
}

/** Whatever a test asks: an answer has the shape that clients are told. */
function requireShape(tools: readonly Tool[], name: string, { structured }: ToolOutcome): void {
  const tool = tools.find((one) => one.name === name)
  const shape = tool?.output ?? tool?.largeOutput
  if (structured && shape) assert.deepEqual(compileSchema(shape)(structuredClone(structured)), [], name)
}

let shipped: Promise<SiteFiles> | undefined

interface Limits {
  readonly timeout_seconds: number
  readonly max_concurrent_per_user: number
  readonly max_result_bytes: number
}

function quiet(): Caller {
  return {
    stop: new Stop(),
    library: noLibrary,
    progress: () => undefined,
    log: () => undefined,
    ask: () => Promise.reject(new AppError('unavailable', 'nobody to ask')),
    confirm: () => Promise.resolve('nobody to confirm'),
  }
}

const none = (): never => {
  throw new AppError('not_found', 'no library in this test')
}
const noLibrary = { skills: () => [], skill: none, countSkillRead: () => Promise.resolve() }
