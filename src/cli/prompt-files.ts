/** Prompt files as their author works on them: on disk, without a daemon or a state. Modules are loaded when asked for, because most commands only speak to a daemon. */
import { existsSync, readFileSync, statSync, watch } from 'node:fs'
import { basename, dirname, relative, resolve } from 'node:path'
import process from 'node:process'
import { AppError } from '../core/errors.ts'
import type { TemplateDifference } from '../library/history.ts'
import type { PromptTestResult } from '../library/prompt-tests.ts'
import { type Fault, faultText } from '../site/site-files.ts'
import { tell } from './output.ts'

/** Whether an argument names a file of the operator's own, and not a prompt of the library. */
export function isFile(text: string): boolean {
  return existsSync(text) && statSync(text).isFile() && !relative('.', text).endsWith('/')
}

/** Renders a template file as it is on disk; every fault of it at once. */
export async function previewFile(file: string, args: Readonly<Record<string, string>>): Promise<string> {
  const { siteFaults } = await import('../site/site.ts')
  const { parseSource } = await import('../site/parse-source.ts')
  const { readTemplate, valuesFor } = await import('../library/template-file.ts')
  const parsed = parseSource(basename(file), readFileSync(file))
  const faults: Fault[] = [...parsed.faults]
  const read = parsed.document && readTemplate(parsed.document, faults)
  if (faults.length > 0 || !read) throw siteFaults(dirname(resolve(file)), faults)
  // A misspelt variable renders as nothing; only the warning shows it.
  for (const warning of read.warnings) tell(`warning: ${faultText(warning)}`)
  return read.content.render(await valuesFor(read, args, () => Promise.resolve(true)))
}

/** Shows now and after every change, until interrupted; a fault is shown and waited out. */
export async function showAgain(file: string, show: () => Promise<void>): Promise<void> {
  const again = (): Promise<void> =>
    show().catch((error: unknown) =>
      error instanceof AppError ? tell(error.message) : Promise.reject(error as Error),
    )
  await again()
  let timer: NodeJS.Timeout | undefined
  // The folder, because editors replace files.
  watch(dirname(resolve(file)), (_event, name) => {
    if (name !== basename(file)) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      process.stdout.write('\n')
      void again()
    }, 100)
  })
  await new Promise<void>((done) => process.once('SIGINT', () => done()))
  process.exit(0)
}

/** Runs the tests that the prompts of a site hold: all, or those of some. AppError `not_found` for a prompt that is not there. */
export async function testPrompts(site: string, ids: readonly string[]): Promise<PromptTestResult[]> {
  const { readWholeSite } = await import('../build/snapshot.ts')
  const { siteFaults } = await import('../site/site.ts')
  const { reading, faults } = await readWholeSite(site)
  if (faults.length > 0) throw siteFaults(site, faults)
  const { templates } = reading.library
  const unknown = ids.filter((id) => !templates.has(id))
  if (unknown.length > 0)
    throw new AppError('not_found', `there is no prompt ${unknown.map((id) => `"${id}"`).join(', ')}`)
  const chosen = ids.length === 0 ? [...templates.values()] : ids.map((id) => templates.get(id)!)
  const { runPromptTests } = await import('../library/prompt-tests.ts')
  return runPromptTests(chosen)
}

/** How the library of a site differs from what it was at a git reference. */
export async function differencesSince(site: string, ref: string): Promise<TemplateDifference[]> {
  const [{ readWholeSite }, { readSiteAt }, { libraryDifference }, { siteFaults }] = await Promise.all([
    import('../build/snapshot.ts'),
    import('../site/read-site-at.ts'),
    import('../library/history.ts'),
    import('../site/site.ts'),
  ])
  const before = await readWholeSite(site, await readSiteAt(site, ref))
  const after = await readWholeSite(site)
  for (const { faults } of [before, after]) if (faults.length > 0) throw siteFaults(site, faults)
  return libraryDifference(before.reading.library, after.reading.library, {
    before: ref,
    after: 'working tree',
  })
}
