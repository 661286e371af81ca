import { cpSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { Option } from 'commander'
import type { Command } from './command.ts'
import { AppError } from '../core/errors.ts'
import { faultText } from '../site/site-files.ts'
import { packageFolder } from '../core/version.ts'
import { askAndPrint, operate } from './control.ts'
import { readOptions, type Options } from './options.ts'
import { print, tell } from './output.ts'
import { writeSchemas } from './schema.ts'

/** `assistant-core init`, `check`, `migrate`, `reload`: the site. */
export function addSiteCommands(program: Command): void {
  program
    .command('init <folder>')
    .description('write a new site into a folder; asks nothing')
    .example('init my-site && assistant-core check --site my-site', 'init my-site --template minimal')
    .addOption(new Option('--template <name>', 'what it begins as').choices(templates).default('trading'))
    .action(async (folder: string, { template }: { template: Template }, command: Command) => {
      const site = resolve(folder)
      const files = await initSite(site, template)
      const others = templates.filter((name) => name !== template).join(', ')
      print(readOptions(command).json, { site, template, files }, () =>
        [
          `${site} is a site: ${contents[template]}`,
          `wrote ${files.length} files, most of them in config/ (README.md there tells what is what)`,
          `start it with: assistant-core serve --site ${folder}`,
          `or begin as something else: --template ${others}`,
        ].join('\n'),
      )
    })

  program
    .command('check')
    .description('read the whole site and print every fault; changes nothing and needs no state')
    .example('check --site my-site')
    .option('--against-state', 'also say which stored documents do not fit the doctypes as they are now')
    .action(async (flags: { againstState?: boolean }, command: Command) => {
      const options = readOptions(command)
      const result = await checkSite(options.site)
      // To standard error: the result on standard output stays the same with and without them.
      for (const warning of result.warnings) tell(`warning: ${warning}`)
      if (flags.againstState) await checkState(options)
      print(
        options.json,
        result,
        ({ site, prompts, skills, doctypes, users }) =>
          `${site}: ${users} users, ${doctypes} doctypes, ${prompts} prompts, ${skills} skills; no faults`,
      )
    })

  addMigrateCommand(program)

  program
    .command('reload')
    .description('make the daemon read its site again, now')
    .example('reload')
    .action((_flags, command: Command) =>
      askAndPrint(
        command,
        'site.reload',
        {},
        (done) => `${done.outcome} (${done.digest}, ${done.milliseconds} ms)`,
      ),
    )
}

function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('rewrite settings of an older layout into the current one, comments kept')
    .example('migrate --site my-site --dry-run')
    .option('--dry-run', 'only print what the file would become')
    .action(async (flags: { dryRun?: boolean }, command: Command) => {
      const options = readOptions(command)
      const { migrateSiteSettings } = await import('../site/migrate-settings.ts')
      const result = await migrateSiteSettings(options.site, { dryRun: flags.dryRun ?? false })
      print(
        options.json,
        { changed: result.changed, changes: result.changes, ...(flags.dryRun && { text: result.text }) },
        () =>
          flags.dryRun
            ? result.text.trimEnd()
            : result.changed
              ? result.changes.join('\n')
              : 'nothing to migrate',
      )
    })
}

/** What a new site may begin as. */
export const templates = ['trading', 'minimal', 'clinic'] as const
export type Template = (typeof templates)[number]

/** Writes a new site and tells its files: what every site has, and what the template adds. */
export async function initSite(site: string, template: Template = 'trading'): Promise<readonly string[]> {
  // A repository that was just made may hold `.git` and nothing else.
  if (existsSync(site) && readdirSync(site).some((name) => name !== '.git')) {
    throw new AppError('conflict', `${site} is not empty; a new site needs a folder of its own`)
  }
  const shared = ['config/README.md', 'config/settings.yaml', 'config/clients.yaml']
  // The formats, where they are needed.
  for (const path of [
    ...(template === 'trading' ? ['config'] : shared),
    'prompts/README.md',
    'skills/README.md',
  ])
    cpSync(join(packageFolder, path), join(site, path), { recursive: true })
  cpSync(join(packageFolder, 'templates', template), site, { recursive: true })
  writeFileSync(join(site, '.gitignore'), '# What the program itself learns is not part of the site.\nvar/\n')
  await writeSchemas(site)
  const files = readdirSync(site, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(site, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith('.git/'))
  return files.sort()
}

/** What a site of the template begins with, for the person who asked for it. */
const contents: Readonly<Record<Template, string>> = {
  trading: 'a small trading company with people and documents to try things with',
  minimal: 'no people, doctypes or documents yet: begin with config/users.yaml',
  clinic: 'a dental clinic with people and documents to try things with',
}

/** Tells what documents in place do not fit; AppError `invalid` when there are any. */
async function checkState(options: Options): Promise<void> {
  const problems = await operate(options, 'site.state_problems', {
    // Whole, since a daemon has a working folder of its own.
    site: resolve(options.site),
  })
  if (problems.length === 0) return
  const lines = problems.map(
    ({ doctype, field, count, examples, message, source }) =>
      `  ${source} ${doctype}${field === undefined ? '' : `.${field}`}: ${message} (${count} documents${examples.length > 0 ? `, such as ${examples.join(', ')}` : ''})`,
  )
  throw new AppError('invalid', `documents in the state do not fit the site:\n${lines.join('\n')}`)
}

/** Reads everything as the daemon would, and runs the prompts' own tests; throws every fault at once. */
async function checkSite(site: string) {
  // Loaded when asked for: most commands only speak to a daemon, and should start at once.
  const { readWholeSite } = await import('../build/snapshot.ts')
  const { siteFaults } = await import('../site/site.ts')
  const { runPromptTests } = await import('../library/prompt-tests.ts')
  const { withSql } = await import('../build/check-sql.ts')
  const { comingSite } = await import('../build/pulling.ts')
  const { unfinishedCheckout } = await import('../site/pull-site.ts')
  const { readSiteAt } = await import('../site/read-site-at.ts')
  const source = await comingSite(site)
  if (source) {
    const warnings = [`the site is cloned from ${source.url} when the service starts`]
    return { site, users: 0, doctypes: 0, prompts: 0, skills: 0, warnings }
  }
  // What the daemon brings to its end before it reads the site.
  const commit = await unfinishedCheckout(site)
  const files = commit === undefined ? undefined : await readSiteAt(site, commit)
  const { reading, faults, warnings } = await withSql((runSql) => readWholeSite(site, files, runSql))
  if (faults.length > 0) throw siteFaults(site, faults)
  // Only on a site that reads well: a test of a broken prompt says nothing new.
  const failed = (await runPromptTests(reading.library.templates.values())).filter((test) => !test.ok)
  const testFaults = failed.map(({ file, test, problems }) => ({
    file,
    line: 1,
    column: 1,
    path: `tests: ${test}`,
    message: problems.join('; '),
  }))
  if (testFaults.length > 0) throw siteFaults(site, testFaults)
  return {
    site,
    users: reading.people.users.size,
    doctypes: reading.platform.doctypes.size,
    prompts: reading.library.templates.size,
    skills: reading.library.skills.size,
    warnings: warnings.map(faultText),
  }
}
