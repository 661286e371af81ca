/** Tries statements of SQL reports before anybody asks for them: a mistake is reported at its place in the YAML. */
import { isAvailable, openSqlAlone } from '#sandbox/sandbox.ts'
import { AppError } from '#leaf/errors.ts'
import type { Folders } from '#leaf/secret-files.ts'
import type { Platform } from '../documents/platform/platform.ts'
import { noSql, type RunSql } from '../documents/reports/run-sql.ts'
import { emptyTables } from '../documents/reports/tables.ts'
import { documentsIn, type Fault, type SiteFiles } from '#site/site-files.ts'
import { placeAt } from '#leaf/places.ts'
import { placeInStatement, statementFault } from '#site/checking.ts'
import type { OwnDefinitions } from '../tools/own/read-own-tools.ts'
import { reportSql } from '../tools/analysing/report-sql.ts'

/** The parts of the machine that a check of a site may use. */
export interface Means {
  readonly runSql: RunSql
  readonly folders: Folders
}

/** No means: no statement is tried. */
export const noMeans: Means = { runSql: noSql, folders: { site: '', state: '' } }

/** The time limit of one statement over empty tables, in milliseconds. */
const milliseconds = 20_000

/**
 * Runs every statement over empty tables of the doctypes that its report names. An error in a statement is a fault;
 * a statement that could not be tried, on this machine or now, is a warning.
 */
export async function checkReportSql(
  files: SiteFiles,
  platform: Platform,
  runSql: RunSql,
  { faults, warnings }: { readonly faults: Fault[]; readonly warnings: Fault[] },
): Promise<void> {
  // A broken doctype may say more than was read of it.
  if (faults.some(({ file }) => file.startsWith('config/doctypes/'))) return
  for (const { report, document } of statementsOf(files, platform)) {
    if (faults.some(({ file }) => file === document.file)) continue
    const tables = emptyTables(platform, report.doctypes)
    const parameters = Object.fromEntries(report.filters.map(({ name }) => [name, null]))
    const signal = AbortSignal.timeout(milliseconds)
    try {
      await runSql({ sql: report.sql!, parameters, tables, maxRows: 1, signal })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // Only an error at a place of the statement is surely its author's.
      if (placeInStatement.test(error.message)) faults.push(statementFault(document, error.message))
      else warnings.push(document.fault(['sql'], `could not be tried: ${error.message}`))
    }
  }
}

/** Warns of fields in statements that some who may run them see masked: a report would fail for them, a tool would show it. */
export function checkMaskedFields(
  files: SiteFiles,
  { platform, own }: { readonly platform: Platform; readonly own: OwnDefinitions },
  warnings: Fault[],
): void {
  for (const { report, document } of statementsOf(files, platform))
    for (const { doctype, field, place, who } of maskedIn(report, report.doctypes, platform))
      warnings.push(
        statementFault(
          document,
          `${place}: "${field}" of ${doctype} is masked for everybody but ${who}; give the report to them alone with "roles"`,
        ),
      )
  for (const definition of own.sql)
    for (const { doctype, field, place, who } of maskedIn(definition, platform.doctypes.keys(), platform))
      warnings.push(
        statementFault(
          own.documents.get(definition)!,
          `${place}: "${field}" is masked in ${doctype} for everybody but ${who}, and no mask reaches a source; give the tool to them alone with "roles"`,
        ),
      )
}

interface MaskedField {
  readonly doctype: string
  readonly field: string
  /** `line 1, column 8`. */
  readonly place: string
  /** The roles that see the field. */
  readonly who: string
}

/** Yields the first mention of each field that not all of the roles may see; no roles means everybody. */
function* maskedIn(
  { sql, roles = [] }: { readonly sql?: string | undefined; readonly roles?: readonly string[] | undefined },
  doctypes: Iterable<string>,
  platform: Platform,
): Generator<MaskedField> {
  // Texts and comments name no field; blanks in their place keep every position.
  const bare = sql!.replace(/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g, (part) =>
    part.replace(/[^\n]/g, ' '),
  )
  for (const doctype of doctypes)
    for (const { name, mask } of platform.doctypes.get(doctype)?.fields.values() ?? []) {
      if (mask === undefined || (roles.length > 0 && roles.every((role) => mask.has(role)))) continue
      const at = new RegExp(`(?<!\\$)\\b${name}\\b`, 'i').exec(bare)?.index
      if (at === undefined) continue
      yield { doctype, field: name, place: placeAt(bare, at), who: [...mask].join(', ') }
    }
}

function* statementsOf(files: SiteFiles, platform: Platform) {
  for (const document of documentsIn(files, 'config/reports/')) {
    const report = platform.reports.get(String((document.data as { report?: unknown } | null)?.report))
    if (report?.sql !== undefined) yield { report, document }
  }
}

/** Lets a check run statements on this machine and query its databases; ends the processes that it needed. */
export async function withSql<Result>(
  folders: Folders,
  check: (means: Means) => Promise<Result>,
): Promise<Result> {
  let opened: ReturnType<typeof openSqlAlone> | undefined
  try {
    const runSql: RunSql = async (request) => reportSql(await (opened ??= openSqlAlone()))(request)
    return await check({ runSql, folders })
  } finally {
    const sql = await opened
    if (sql && isAvailable(sql)) await sql.close()
  }
}
