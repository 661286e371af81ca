import type { Fault, SiteFiles } from '../site/site-files.ts'
import type { People } from '../users/people.ts'
import type { Platform } from './platform.ts'
import { readDoctypes } from './read-doctypes.ts'

/**
 * Reads what `config/` says about doctypes, workflows, reports and clients' limits. Every fault is
 * added to `faults`; with any, the platform must not be used.
 */
export function readPlatform(files: SiteFiles, faults: Fault[], people: People): Platform {
  const doctypes = readDoctypes(files, faults, people)
  return { people, doctypes, workflows: new Map(), reports: new Map(), clientLimits: [] }
}
