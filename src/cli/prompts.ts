import { existsSync, readFileSync, statSync, watch, writeFileSync } from 'node:fs'
import { basename, dirname, relative, resolve } from 'node:path'
import process from 'node:process'
import { asks, takes } from '#commands/description.ts'
import { AppError } from '#leaf/errors.ts'
import type { PromptTestResult } from '../library/prompts/prompt-tests.ts'
import { type Fault, faultText } from '#site/site-files.ts'
import { defineCommand } from './options.ts'
import { operate } from './control.ts'
import { picturedLines, print, tell } from '#commands/terminal.ts'

/**
 * `assistant-core prompts …`: an author's commands before a prompt is in use. They work on files, without a daemon or a
 * state. Modules are loaded on demand, because most commands only talk to a daemon.
 */
export const promptCommands = [
  defineCommand({
    name: 'prompts preview',
    does: 'print a prompt as a client would get it; a file of your own need not be part of the site',
    examples: [
      'prompts preview sales_analysis --arg analysis_focus=revenue_trends',
      'prompts preview prompts/visit_report.md --arg customer=Acme --watch',
    ],
    input: takes({
      prompt: '<id-or-file>',
      arg: asks('--arg <name=value>: an argument; repeatable', { default: {} }),
      user: '--user <user>: as this user would get it',
      watch: '--watch: again whenever the file changes',
    }),
    run: async ({ prompt, arg: given = {}, user, watch }, options) => {
      const isFile = existsSync(prompt) && statSync(prompt).isFile() && !relative('.', prompt).endsWith('/')
      if (!isFile) return operate(options, 'prompts.preview', { prompt, arguments: given, user })
      const preview = async () => ({ text: await previewFile(prompt, given as Record<string, string>) })
      if (!watch) return preview()
      await showAgain(prompt, async () => print(options.json, await preview(), shown))
      return undefined
    },
    text: (preview) => shown(preview!),
  }),
  defineCommand({
    name: 'prompts test',
    does: 'run the tests that prompt files hold (tests:)',
    examples: ['prompts test visit_report --site my-site'],
    input: takes({ ids: '[ids...]', junit: '--junit <file>: also write a JUnit report' }),
    run: async ({ ids = [], junit }, { site }) => {
      const results = await testPrompts(site, ids)
      if (junit)
        writeFileSync(junit, (await import('../library/prompts/prompt-tests.ts')).junitReport(results))
      return results
    },
    text: (results) => {
      const lines = results.flatMap(({ ok, prompt, test, problems }) => [
        `${ok ? 'ok  ' : 'FAIL'}  ${prompt}: ${test}`,
        ...problems.map((problem) => `      ${picturedLines(problem).replaceAll('\n', '\n      ')}`),
      ])
      return [...lines, `${results.filter(({ ok }) => ok).length} of ${results.length} tests passed`].join(
        '\n',
      )
    },
    failure: (results) => {
      const failed = results.filter((result) => !result.ok).length
      return failed > 0 && `${failed} of ${results.length} prompt tests failed`
    },
  }),
  defineCommand({
    name: 'prompts diff',
    does: 'compare the prompts of the site with those of a branch, tag or commit',
    examples: ['prompts diff main'],
    input: takes({ ref: '<ref>' }),
    run: async ({ ref }, { site }) => {
      const { libraryDifference } = await import('../library/versions/history.ts')
      const names = { before: ref, after: 'working tree' }
      return libraryDifference(await libraryOf(site, ref), await libraryOf(site), names)
    },
    text: (list, { ref }) => {
      const told = list.map(({ id, kind, file, newVersion, status, diff }) => {
        const version = newVersion ? ', new version' : ''
        const way = status ? `, ${status.from} to ${status.to}` : ''
        return `${id} (${file}): ${kind}${version}${way}\n${picturedLines(diff)}`.trimEnd()
      })
      return told.join('\n\n') || `no difference from ${ref}`
    },
    failure: (differences) => {
      const wrong = differences.filter(({ status }) => status?.allowed === false).map(({ id }) => id)
      const order = 'Draft, Published, Deprecated, Archived, or back to Draft'
      return wrong.length > 0 && `the status may not go that way: ${wrong.join(', ')}; the order is ${order}`
    },
  }),
]

/** Returns a rendered text for a person at a terminal, or as it is for whatever else takes it. */
function shown({ text }: { readonly text: string }): string {
  return process.stdout.isTTY ? picturedLines(text) : text
}

/** Renders a template file as it is on disk; reports every fault of it at once. */
async function previewFile(file: string, args: Readonly<Record<string, string>>): Promise<string> {
  const { siteFaults } = await import('#site/site.ts')
  const { parseSource } = await import('#site/reading.ts')
  const { readTemplate } = await import('../library/prompts/template-file.ts')
  const { renderAlone } = await import('../library/prompts/prompt-tests.ts')
  const parsed = parseSource(basename(file), readFileSync(file))
  const faults: Fault[] = [...parsed.faults]
  const read = parsed.document && readTemplate(parsed.document, faults)
  if (faults.length > 0 || !read) throw siteFaults(dirname(resolve(file)), faults)
  // A misspelt variable renders as nothing; only the warning shows it.
  for (const warning of read.warnings) tell(`warning: ${faultText(warning)}`)
  return renderAlone(read, args)
}

/** Shows the prompt now and after every change, until interrupted; a fault is shown, and the next change awaited. */
async function showAgain(file: string, show: () => Promise<void>): Promise<void> {
  const again = (): Promise<void> =>
    show().catch((error: unknown) =>
      error instanceof AppError ? tell(error.message) : Promise.reject(error as Error),
    )
  await again()
  let timer: NodeJS.Timeout | undefined
  // The folder is watched, because editors replace files.
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

/** Reads the library of a site, in its folder or at a git reference; throws every fault of the site at once. */
async function libraryOf(site: string, ref?: string) {
  const { readWholeSite } = await import('../house/snapshot.ts')
  const { siteFaults } = await import('#site/site.ts')
  const { readSiteAt } = await import('#site/reading.ts')
  const { reading, faults } = await readWholeSite(site, ref === undefined ? ref : await readSiteAt(site, ref))
  if (faults.length > 0) throw siteFaults(site, faults)
  return reading.library
}

/** Runs the tests of a site's prompts: all, or those of some. AppError `not_found` for a prompt that does not exist. */
async function testPrompts(site: string, ids: readonly string[]): Promise<PromptTestResult[]> {
  const all = [...(await libraryOf(site)).templates.values()]
  const chosen = ids.map((id) => all.filter(({ template }) => template.id === id || template.name === id))
  const unknown = ids.filter((_, at) => chosen[at]!.length === 0)
  if (unknown.length > 0)
    throw new AppError('not_found', `there is no prompt ${unknown.map((id) => `"${id}"`).join(', ')}`)
  const { runPromptTests } = await import('../library/prompts/prompt-tests.ts')
  return runPromptTests(ids.length === 0 ? all : chosen.flat())
}
