/** Statements of SQL reports, tried before anybody asks for them: a mistake is told with the site, at its place in the YAML. */
import { isAvailable, openSqlAlone } from '../analysis/analysis.ts'
import { AppError } from '../core/errors.ts'
import type { Platform } from '../documents/platform.ts'
import { noSql, type RunSql } from '../documents/run-sql.ts'
import { emptyTables } from '../documents/tables.ts'
import type { Fault, SiteFiles, SourceDocument } from '../site/site-files.ts'
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
  if (runSql === noSql) return
  for (const { report, document } of statementsOf(files, platform)) {
    const tables = emptyTables(platform, report.doctypes)
    const key = JSON.stringify([report.sql, report.filters.map(({ name }) => name), tables.tables])
    if (!tried.has(key)) {
      const parameters = Object.fromEntries(report.filters.map(({ name }) => [name, null]))
      try {
        const signal = AbortSignal.timeout(milliseconds)
        await runSql({ sql: report.sql!, parameters, tables: { ...tables, key }, maxRows: 1, signal })
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

/** What statements name that some of those who may run them see masked: for them the report would fail. */
export function checkMaskedFields(files: SiteFiles, platform: Platform, warnings: Fault[]): void {
  for (const { report, document } of statementsOf(files, platform)) {
    // Texts and comments name nothing; blanks in their place keep every position.
    const bare = report.sql!.replace(/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g, (part) =>
      part.replace(/[^\n]/g, ' '),
    )
    for (const name of report.doctypes)
      for (const field of platform.doctypes.get(name)?.fields.values() ?? []) {
        const { mask } = field
        if (mask === undefined) continue
        const at = new RegExp(`\\b${field.name}\\b`, 'i').exec(bare)?.index
        if (at === undefined || (report.roles.length > 0 && report.roles.every((role) => mask.has(role))))
          continue
        const before = bare.slice(0, at).split('\n')
        const who = [...mask].join(', ')
        warnings.push(
          faultIn(
            document,
            `line ${before.length}, column ${before.at(-1)!.length + 1}: "${field.name}" of ${name} is masked for everybody but ${who}; give the report to them alone with "roles"`,
          ),
        )
      }
  }
}

function* statementsOf(files: SiteFiles, platform: Platform) {
  for (const [file, document] of files.documents) {
    const name = file.startsWith('config/reports/') && (document.data as { report?: unknown } | null)?.report
    const report = platform.reports.get(String(name))
    if (report?.sql !== undefined) yield { report, document }
  }
}

const placeInStatement = /^line (\d+), column (\d+): ([\s\S]*)$/

/** A fault at the line and column of a statement that its message begins with. */
function faultIn(document: SourceDocument, message: string): Fault {
  const fault = document.fault(['sql'], message)
  const [, line, column, rest] = placeInStatement.exec(message) ?? []
  const lines = Buffer.from(document.bytes).toString('utf8').split('\n')
  // Only a block keeps the lines of the statement; its text begins below `sql: |`.
  if (line === undefined || !/\|[-+]?\d?\s*(#.*)?$/.test(lines[fault.line - 1] ?? '')) return fault
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
