import type { Fault, SiteFiles } from '#site/site-files.ts'
import { readSources } from '../../settings/sources.ts'
import type { People } from '../../users/people.ts'
import type { Doctype, Platform } from './platform.ts'
import { readClientLimits } from './read-client-limits.ts'
import { readDoctypes } from './read-doctypes.ts'
import { readReports } from './read-reports.ts'
import { translatedOf } from './translations.ts'
import { readWorkflows } from './read-workflows.ts'

/**
 * Reads the doctypes, workflows, reports and clients' limits in `config/`. Every fault is
 * added to `faults`; with any, the platform must not be used. Settings that work, but slowly, are added to `warnings`.
 */
export function readPlatform(
  files: SiteFiles,
  faults: Fault[],
  people: People,
  warnings: Fault[] = [],
): Platform {
  // Its faults are told where own tools are read.
  const databases = new Map(Object.entries(readSources(files, [])))
  const doctypes = readDoctypes(files, faults, people, warnings, databases)
  // Workflows come before reports, which may show the state field that a workflow adds to its doctype.
  const workflows = readWorkflows(files, faults, people, doctypes, warnings)
  const platform = {
    digest: files.digest,
    people,
    doctypes,
    workflows,
    reports: readReports(files, { faults, warnings }, people, doctypes),
    clientLimits: readClientLimits(files, faults, people),
    confidential: confidentialFields(doctypes.values()),
    translated: new Map<string, Platform>(),
  }
  return { ...platform, translated: translatedOf(platform) }
}

function confidentialFields(doctypes: Iterable<Doctype>): ReadonlySet<string> {
  const fields = [...doctypes].flatMap((doctype) => [...doctype.fields.values()])
  return new Set(fields.filter(({ level, mask }) => level > 0 || mask !== undefined).map(({ name }) => name))
}
