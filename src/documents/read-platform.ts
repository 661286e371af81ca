import type { Fault, SiteFiles } from '../site/site-files.ts'
import type { People } from '../users/people.ts'
import type { Doctype, Platform } from './platform.ts'
import { readClientLimits } from './read-client-limits.ts'
import { readDoctypes } from './read-doctypes.ts'
import { readReports } from './read-reports.ts'
import { readWorkflows } from './read-workflows.ts'

/**
 * Reads what `config/` says about doctypes, workflows, reports and clients' limits. Every fault is
 * added to `faults`; with any, the platform must not be used. What works, but slowly, is added to `warnings`.
 */
export function readPlatform(
  files: SiteFiles,
  faults: Fault[],
  people: People,
  warnings: Fault[] = [],
): Platform {
  const doctypes = readDoctypes(files, faults, people, warnings)
  // Before the reports, which may show the state that a workflow adds to its doctype.
  const workflows = readWorkflows(files, faults, people, doctypes)
  return {
    digest: files.digest,
    people,
    doctypes,
    workflows,
    reports: readReports(files, faults, people, doctypes),
    clientLimits: readClientLimits(files, faults, people),
    confidential: confidentialFields(doctypes.values()),
  }
}

function confidentialFields(doctypes: Iterable<Doctype>): ReadonlySet<string> {
  const fields = [...doctypes].flatMap((doctype) => [...doctype.fields.values()])
  return new Set(fields.filter(({ level, mask }) => level > 0 || mask !== undefined).map(({ name }) => name))
}
