/**
 * Every error that a model can provoke teaches: it says what was understood and what there is, and with it, the wrong call and
 * the catalogue one can write a call that would do. Each place in the source that makes an error is reached by a wrong call.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import type { SiteFiles } from '#site/site-files.ts'
import { type Analysis, isAvailable, openAnalysis } from '#sandbox/sandbox.ts'
import type { Skill } from '../../src/library/words.ts'
import { analysisTools, withDrawing } from '../../src/tools/analysing/analysis-tools.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { reportSql } from '../../src/tools/analysing/report-sql.ts'
import { searchAuditTool } from '../../src/tools/reading/search-audit.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { startAudit } from '../../packages/audit/test/audit-folder.ts'
import { admin, root, sales, silent, someone } from '../documents/trading-company.ts'
import { skillOf } from '../mcp/server.ts'
import { everyTool } from './every-tool.ts'
import { type Office, openOffice } from './offices.ts'
import { type Args, any, type Line, lines, linesOfStore, store, stored } from './wrong-calls.ts'

const auditing = someone(
  'auditor@example.com',
  'System Manager',
  'Assistant Admin',
  'Assistant User',
  'Auditor',
)

let analysis: Analysis
before(async () => {
  analysis = await openAnalysis({ log: silent })
})
after(() => analysis.close())

const skill = skillOf('one', {
  'SKILL.md': '# One',
  'references/a.md': 'more',
  'logo.png': Buffer.from([0xff, 0x00]),
})
const library = { skills: () => [skill], skill: (): Skill => skill, countSkillRead: () => Promise.resolve() }

/** Opens an office with every tool of this machine; the places where its tools throw are noted. */
async function openTaught(t: TestContext, thrown: Set<string>, files?: SiteFiles): Promise<Office> {
  const clock = { now: () => Date.parse('2026-07-01T12:00:00Z') }
  const { audit } = await startAudit(t)
  const own = [...analysisTools(analysis, clock), searchAuditTool(audit, clock)]
  const names = new Set(own.map(({ name }) => name))
  const tools = [...withDrawing(builtInTools, analysis).filter(({ name }) => !names.has(name)), ...own].map(
    (tool): Tool => ({
      ...tool,
      run: async (args, context) => {
        try {
          return await tool.run(args, context)
        } catch (error) {
          if (error instanceof AppError) thrown.add(placeOf(error))
          throw error
        }
      },
    }),
  )
  return await openOffice(t, {
    tools,
    toolsYaml: '{}',
    runSql: reportSql(analysis.sql),
    ...(files && { files }),
  })
}

/** What is done in the shipped company before. */
const given: typeof stored = [
  ['cancel_document', { doctype: 'Sales Order', name: 'SO-00002' }],
  ['cancel_document', { doctype: 'Sales Order', name: 'SO-00004' }],
  ['amend_document', { doctype: 'Sales Order', name: 'SO-00002' }],
  ['attach_file', { doctype: 'Task', name: 'TASK-00001', file_name: 'notes.txt', text: 'Agreed.' }],
  ['create_dashboard', { dashboard_name: 'Twice', chart_names: ['Orders by status'] }],
  ['create_dashboard', { dashboard_name: 'Twice', chart_names: ['Orders by status'] }],
]

/** Returns the first line of our source that stands in an error's stack. */
function placeOf({ stack = '' }: Error): string {
  const [, file, line] =
    /((?:src|packages\/\w+\/src)\/[\w./-]+):(\d+):\d+/.exec(
      stack
        .split(/\n\s+at /)
        .slice(1)
        .join('\n'),
    ) ?? []
  return `${file}:${line}`
}

/** Puts names of documents where a line only tells what they are like. */
async function withNames({ answer }: Office, value: Args): Promise<Args> {
  const query: Readonly<Record<string, Args>> = {
    PENDING: { doctype: 'Purchase Order', filters: { workflow_state: 'Pending Approval' } },
    APPROVED: { doctype: 'Purchase Order', filters: { workflow_state: 'Approved' } },
    TWICE: { doctype: 'Dashboard', filters: { dashboard_name: 'Twice' } },
  }
  const named = Object.entries(value).map(async ([key, one]) => {
    const asked = typeof one === 'string' ? query[one] : undefined
    if (!asked) return [key, one]
    return [key, (await answer(admin, 'list_documents', { ...asked, limit: 1 }))['data'][0].name]
  })
  return Object.fromEntries(await Promise.all(named)) as Args
}

function leavesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? [value] : []
  return Object.entries(value).flatMap(([key, one]) => [
    ...(Array.isArray(value) ? [] : [key]),
    ...leavesOf(one),
  ])
}

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}_@]+/gu) ?? []

/** Returns the words of a call that stand neither in the error, nor in the wrong call, nor in what the tool's listing says. */
function untaught(text: string, wrong: Args, tool: Tool, right: Args): string[] {
  const listing = JSON.stringify([tool.description, tool.input, tool.example])
  const known = new Set(wordsOf(`${text} ${leavesOf(wrong).join(' ')} ${listing}`))
  const free = new Set([any, 'SELECT', 'FROM', 'AS', 'UNION', 'ALL', 'BY', 'ON', 'JOIN', 'WHERE'])
  return leavesOf(right)
    .flatMap(wordsOf)
    .filter((word) => !known.has(word) && !free.has(word) && !/^\d+$/.test(word))
}

/** Tells what is wrong with the error of one line. */
async function faultsOf(office: Office, { as = admin, ...line }: Line): Promise<string[]> {
  const args = await withNames(office, line.args)
  const { text, isError, fault } = await office.call(as, line.tool, args, { library })
  if (!isError) return ['is no error']
  const said = text.replaceAll('\\"', '"')
  const faults = line.says.filter((part) => !said.includes(part)).map((part) => `does not say: ${part}`)
  if (line.cure === 'nothing would do') {
    if (fault?.code !== 'forbidden') faults.push('something would do')
  } else {
    const [name, given] = line.cure
    const right = await withNames(office, given)
    if (name !== line.tool && !text.includes(name)) faults.push(`does not name ${name}`)
    const { tool } = office.catalogue.offered(as).find((one) => one.tool.name === name)!
    const words = untaught(text, args, tool, right)
    if (words.length > 0) faults.push(`does not teach: ${words.join(' ')}`)
    const answer = await office.call(as, name, right, { library })
    if (answer.isError) faults.push(`what it teaches would not do: ${answer.text.slice(0, 200)}`)
  }
  return faults.map(
    (one) => `${line.tool} ${JSON.stringify(args).slice(0, 200)}\n  ${one}\n  ${text.slice(0, 300)}`,
  )
}

/** Errors that no model can provoke by a wrong call, by a part of their line and what follows it. */
const notByModels: Readonly<Record<string, string>> = {
  'this server cannot run SQL reports': 'of a machine without DuckDB',
  'files already (remove_attachment)': 'takes fifty files',
  'too many for statements and programs': 'of tables of others, in sources.test.ts',
  'is not open here': 'of tables of others',
  'which is written to one document at a time': 'of tables of others, in source-writing.test.ts',
  '${why}; nothing was changed': 'of tables of others, in source-writing.test.ts',
  '${joined(problems)}`, { cause: error': 'of tables of others, in source-writing.test.ts',
  'broke at the end': 'of a connection that breaks, in source-writing.test.ts',
  "('unavailable', why, { cause })": 'of our own state that fails just then',
  'the call ended before it was done': 'of a crash, in source-crash.test.ts',
  lostAnswer: 'of a crash, in source-crash.test.ts',
  noRoom: 'of clients that send thousands of calls that may come again, in repeatable.test.ts',
  usedOtherwise: 'of clients that send a call again, in repeatable.test.ts',
  'delete what is not needed': 'of a setting, in quota.test.ts',
  'narrow the filters`': 'takes 501 documents',
  'your roles do not open this': 'of reports over what a caller may not read in full',
  'the report was cancelled': 'of somebody who cancelled it on a page',
  'the service stopped while': 'of an operator',
  'too long to be kept': 'takes megabytes of rows',
  'error.code, error.message': 'gives again what was kept',
}
/** The folders whose errors tools hand on; what explains rules or ends changes is for pages and the command line. */
const folders = [
  'tools',
  'analysis',
  'documents',
  'documents/asking',
  'documents/writing',
  'documents/reports',
]

/** Returns the places that make errors and that no wrong call reached. */
function unreached(thrown: ReadonlySet<string>): string[] {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, 'src', folder)).map((name) => `src/${folder}/${name}`),
  )
  return files
    .filter((file) => /(?<!\.d)\.ts$/.test(file) && !/(explaining|told-outcomes)\.ts$/.test(file))
    .flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8').split('\n')
      const isKnown = (at: number): boolean => {
        const text = source.slice(at, at + 5).join('\n')
        return thrown.has(`${file}:${at + 1}`) || Object.keys(notByModels).some((part) => text.includes(part))
      }
      return source.flatMap((line, at) =>
        line.includes('new AppError(') && !isKnown(at) ? [`${file}:${at + 1} ${line.trim()}`] : [],
      )
    })
}

function missing(t: TestContext): boolean {
  const { sql, python, files, charts } = analysis
  const away = [sql, python, files, charts].find((part) => !isAvailable(part))
  if (!away || isAvailable(away)) return false
  t.skip(away.unavailable)
  return true
}

describe('the error of a wrong call', () => {
  it('says what was understood and what there is, and teaches a call that would do; at every place that makes one', async (t) => {
    if (missing(t)) return
    const thrown = new Set<string>()
    const wrong: string[] = []
    const offices = [
      [await openTaught(t, thrown), given, lines],
      [await openTaught(t, thrown, store), stored, linesOfStore],
    ] as const
    for (const [office, before, table] of offices) {
      for (const [tool, args, as = admin] of before) await office.answer(as, tool, args)
      for (const line of table) wrong.push(...(await faultsOf(office, line)))
    }
    assert.deepEqual(wrong, [])
    assert.deepEqual(unreached(thrown), [])
  })

  it('names the argument that is missing, unknown or of another type, what there is, and a call with all of it', async (t) => {
    const office = await openOffice(t, { tools: everyTool(), toolsYaml: '{}' })
    let tries = 0
    for (const { name, input, example } of everyTool()) {
      const { properties, required } = input as { properties: Record<string, any>; required: string[] }
      const refused = async (args: Args, ...says: string[]): Promise<void> => {
        tries++
        const { text, isError } = await office.call(auditing, name, args)
        assert.ok(isError, `${name} ${JSON.stringify(args)}`)
        for (const part of [...says, `${name} ${JSON.stringify(example)}`])
          assert.ok(text.includes(part), `${name} ${JSON.stringify(args)} does not say ${part}: ${text}`)
      }
      for (const key of required) {
        const { [key]: _, ...rest } = example!
        await refused(rest, `"${key}" is required`)
      }
      await refused({ ...example, zzzzzz: 1 }, 'zzzzzz: unknown key', Object.keys(properties)[0] ?? '')
      for (const [key, schema] of Object.entries(properties)) {
        const kinds = [schema.type].flat()
        const other = kinds.includes('object') ? 7 : { x: 1 }
        await refused({ ...example, [key]: other }, `${key}: `, String(schema.enum?.[0] ?? kinds[0]))
        if (schema.enum) await refused({ ...example, [key]: 'nonsense' }, '"nonsense"', schema.enum.at(-1))
      }
    }
    assert.ok(tries > 150)
  })

  it('of a tool that is not there names the one that is meant, and none that the caller is not offered', async (t) => {
    const { call } = await openOffice(t, { tools: everyTool() })
    assert.match((await call(sales, 'get_documents')).text, /did you mean "get_document"\?/)
    assert.doesNotMatch((await call(sales, 'run_python')).text, /run_python_code/)
  })
})
