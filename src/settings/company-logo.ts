import type { Settings } from '../core/settings.ts'
import { settingsFile } from './read-settings.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'

/** The maximum size of the logo: every page asks for it. */
const mostBytes = 100_000

/** Returns the bytes of the company's logo; reports a fault when the settings name a file that is missing or too large. */
export function readLogo(
  files: SiteFiles,
  { company: { logo } }: Pick<Settings, 'company'>,
  faults: Fault[],
): Uint8Array | undefined {
  if (logo === null) return undefined
  const bytes = files.assets.get(logo)
  const problem =
    bytes === undefined
      ? `there is no file ${logo}`
      : bytes.length > mostBytes
        ? `${logo} has ${bytes.length} bytes; at most ${mostBytes} are shown`
        : undefined
  const document = files.documents.get(settingsFile)
  if (problem !== undefined && document) faults.push(document.fault(['company', 'logo'], problem))
  return bytes
}
