/** Statements of SQL reports and SQL tools, tried before anybody asks for them: a mistake is told at its place in the YAML. */
import { isAvailable, openSqlAlone } from '../analysis/analysis.ts'
import { AppError, messageOf } from '../core/errors.ts'
import type { Platform } from '../documents/platform.ts'
import type { RunSql } from '../documents/run-sql.ts'
import { emptyTables } from '../documents/tables.ts'
import { documentsIn, type Fault, type SiteFiles, type SourceDocument } from '../site/site-files.ts'
import type { OwnDefinitions } from '../tools/own/read-own-tools.ts'
import { reportSql } from '../tools/report-sql.ts'

/** How long one statement over empty tables may take. */
const milliseconds = 20_000

/** What statements were found to be, by all that decides it: a reload tries only what changed. */
const tried = new Map<string, string | undefined>()

/**
 * Runs every statement over empty tables of the doctypes that its report names. What is wrong with a statement is a
 * fault; that it could not be tried, on this machine or now, is a warning.
 */
export async function checkReportSql(
  files: SiteFiles,
  platform: Platform,
  runSql: RunSql,
  { faults, warnings }: { readonly faults: Fault[]; readonly warnings: Fault[] },
): Promise<void> {
  // What is read of a broken doctype is not all that it says.
  if (faults.some(({ file }) => file.startsWith('config/doctypes/'))) return
  for (const { report, document } of statementsOf(files, platform)) {
    if (!isSound(document, faults)) continue
    const tables = emptyTables(platform, report.doctypes)
    const key = JSON.stringify([report.sql, report.filters.map(({ name }) => name), tables.tables])
    if (!tried.has(key)) {
      const parameters = Object.fromEntries(report.filters.map(({ name }) => [name, null]))
      try {
        const signal = AbortSignal.timeout(milliseconds)
        await runSql({ sql: report.sql!, parameters, tables, maxRows: 1, signal })
        tried.set(key, undefined)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        // Only what stands at a place of the statement is surely its author's.
        if (!placeInStatement.test(error.message)) {
          warnings.push(document.fault(['sql'], `could not be tried: ${error.message}`))
          continue
        }
        tried.set(key, error.message)
      }
    }
    const problem = tried.get(key)
    if (problem !== undefined) faults.push(faultIn(document, problem))
  }
}

function isSound({ file }: SourceDocument, faults: readonly Fault[]): boolean {
  return faults.every((fault) => fault.file !== file)
}

/**
 * Has the source of each SQL tool prepare its statement, on the tables that are there: none runs. A source that cannot
 * be asked is a warning, since a site is also checked where its databases are not.
 */
export async function checkToolSql(
  files: SiteFiles,
  own: OwnDefinitions,
  { faults, warnings }: { readonly faults: Fault[]; readonly warnings: Fault[] },
): Promise<void> {
  const { folder, sources } = own
  const soundTools = [...sqlToolsOf(files, own)].filter(({ document }) => isSound(document, faults))
  await Promise.all(
    Object.entries(sources).map(async ([name, source]) => {
      const keyOf = ({ definition: { sql } }: (typeof soundTools)[number]): string =>
        JSON.stringify([source, folder, sql])
      const tools = soundTools.filter((tool) => tool.definition.source === name && !tried.has(keyOf(tool)))
      if (tools.length === 0) return
      const { statementProblems } = await import('../tools/own/sql-tool.ts')
      const definitions = tools.map(({ definition }) => definition)
      try {
        const problems = await statementProblems(definitions, source, folder)
        for (const [index, tool] of tools.entries()) {
          if (problems[index] === undefined) tried.set(keyOf(tool), undefined)
          else faults.push(faultIn(tool.document, problems[index]))
        }
      } catch (error) {
        for (const { document } of tools)
          warnings.push(document.fault(['sql'], `could not be tried in ${name}: ${messageOf(error)}`))
      }
    }),
  )
}

/** What statements name that some of those who may run them see masked: a report would fail for them, a tool would show it. */
export function checkMaskedFields(
  files: SiteFiles,
  { platform, own }: { readonly platform: Platform; readonly own: OwnDefinitions },
  warnings: Fault[],
): void {
  for (const { report, document } of statementsOf(files, platform))
    for (const { doctype, field, place, who } of maskedIn(report, report.doctypes, platform))
      warnings.push(
        faultIn(
          document,
          `${place}: "${field}" of ${doctype} is masked for everybody but ${who}; give the report to them alone with "roles"`,
        ),
      )
  for (const { definition, document } of sqlToolsOf(files, own))
    for (const { doctype, field, place, who } of maskedIn(definition, platform.doctypes.keys(), platform))
      warnings.push(
        faultIn(
          document,
          `${place}: "${field}" is masked in ${doctype} for everybody but ${who}, and no mask reaches a source; give the tool to them alone with "roles"`,
        ),
      )
}

interface MaskedField {
  readonly doctype: string
  readonly field: string
  /** `line 1, column 8`. */
  readonly place: string
  /** The roles that see it. */
  readonly who: string
}

/** The first mention of each field that not all of the roles may see; no roles are everybody. */
function* maskedIn(
  { sql, roles = [] }: { readonly sql?: string | undefined; readonly roles?: readonly string[] | undefined },
  doctypes: Iterable<string>,
  platform: Platform,
): Generator<MaskedField> {
  // Texts and comments name nothing; blanks in their place keep every position.
  const bare = sql!.replace(/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g, (part) =>
    part.replace(/[^\n]/g, ' '),
  )
  for (const doctype of doctypes)
    for (const { name, mask } of platform.doctypes.get(doctype)?.fields.values() ?? []) {
      if (mask === undefined || (roles.length > 0 && roles.every((role) => mask.has(role)))) continue
      const at = new RegExp(`(?<!\\$)\\b${name}\\b`, 'i').exec(bare)?.index
      if (at === undefined) continue
      const before = bare.slice(0, at).split('\n')
      const place = `line ${before.length}, column ${before.at(-1)!.length + 1}`
      yield { doctype, field: name, place, who: [...mask].join(', ') }
    }
}

function* statementsOf(files: SiteFiles, platform: Platform) {
  for (const document of documentsIn(files, 'config/reports/')) {
    const report = platform.reports.get(String((document.data as { report?: unknown } | null)?.report))
    if (report?.sql !== undefined) yield { report, document }
  }
}

function* sqlToolsOf(files: SiteFiles, { sql }: OwnDefinitions) {
  for (const document of documentsIn(files, 'config/tools/')) {
    const name = (document.data as { tool?: unknown } | null)?.tool
    const definition = sql.find(({ tool }) => tool === name)
    if (definition) yield { definition, document }
  }
}

const placeInStatement = /^line (\d+), column (\d+): ([\s\S]*)$/

/** A fault at the line and column of a statement that its message begins with. */
function faultIn(document: SourceDocument, message: string): Fault {
  const fault = document.fault(['sql'], message)
  const [, line, column, rest] = placeInStatement.exec(message) ?? []
  if (line === undefined) return fault
  const lines = Buffer.from(document.bytes).toString('utf8').split('\n')
  const first = lines[fault.line - 1] ?? ''
  const { sql } = document.data as { readonly sql: string }
  // As it stands in one line, without quotes.
  if (line === '1' && first.startsWith(sql, fault.column - 1))
    return { ...fault, column: fault.column - 1 + Number(column), message: rest! }
  // Only a block keeps the lines of the statement; its text begins below `sql: |`.
  if (!/\|[-+]?\d?\s*(#.*)?$/.test(first)) return fault
  const at = fault.line + Number(line)
  const indent = /^ */.exec(lines[fault.line] ?? '')![0].length
  return { ...fault, line: at, column: indent + Number(column), message: rest! }
}

/** Lets a check run statements on this machine; ends the processes that it needed. */
export async function withSql<Result>(check: (runSql: RunSql) => Promise<Result>): Promise<Result> {
  let opened: ReturnType<typeof openSqlAlone> | undefined
  try {
    return await check(async (request) => reportSql(await (opened ??= openSqlAlone()))(request))
  } finally {
    const sql = await opened
    if (sql && isAvailable(sql)) await sql.close()
  }
}
