import { resolve } from 'node:path'
import { asks, takes } from '#commands/description.ts'
import { table, tell, write } from '#commands/terminal.ts'
import { AppError } from '#leaf/errors.ts'
import { didYouMean } from '#leaf/names.ts'
import { operate } from './control.ts'
import { defineCommand, type Options } from './options.ts'

/** The templates of a new site. */
export const templates = ['minimal', 'trading', 'clinic'] as const
export type Template = (typeof templates)[number]

/** The option that chooses a template. */
export const templateFlag = asks('--template <name>: what it begins as', {
  enum: templates,
  default: 'minimal',
})

/** `assistant-core init`, `check`, `migrate`, `schema`: commands on the files of a site's folder. */
export const siteCommands = [
  defineCommand({
    name: 'init',
    does: 'write a new site into a folder; asks nothing',
    examples: ['init my-site && assistant-core check --site my-site', 'init to-try --template trading'],
    input: takes({ folder: '<folder>', template: templateFlag }),
    run: async ({ folder, template = 'minimal' }) => {
      const site = resolve(folder)
      const { initSite } = await import('../house/new-site.ts')
      return { site, template, files: initSite(site, template) }
    },
    text: ({ site, template, files }, { folder }) => [
      `${site} is a site: ${contents[template]}`,
      `wrote ${files.length} files, most of them in config/ (README.md there tells what is what)`,
      template === 'minimal' && firstPerson(`assistant-core --site ${folder}`),
      `start it with: assistant-core serve --site ${folder}`,
      `or begin as something else: --template ${templates.filter((name) => name !== template).join(', ')}`,
    ],
  }),
  defineCommand({
    name: 'check',
    does: 'read the whole site and print every fault; changes nothing and needs no state',
    examples: ['check --site my-site'],
    input: takes({
      tools: '--tools: also try what tools of the site need: secrets, hosts, statements, other MCP servers',
      state: '--against-state: also say which stored documents do not fit the doctypes as they are now',
    }),
    run: async ({ tools = false, state }, options) => {
      // Loaded on demand: most commands only talk to a daemon, and should start at once.
      const { checkSite } = await import('../house/check-site.ts')
      const result = await checkSite(options, tools)
      // Warnings go to standard error: the result on standard output is the same with and without them.
      for (const warning of result.warnings) tell(`warning: ${warning}`)
      if (state) await checkState(options)
      return result
    },
    text: ({ site, prompts, skills, doctypes, users }) =>
      `${site}: ${users} users, ${doctypes} doctypes, ${prompts} prompts, ${skills} skills; no faults`,
  }),
  defineCommand({
    name: 'migrate',
    does: 'rewrite settings of an older layout into the current one, comments kept',
    examples: ['migrate --site my-site --dry-run'],
    input: takes({ dryRun: '--dry-run: only print what the file would become' }),
    run: async ({ dryRun = false }, { site }) => {
      const { migrateSiteSettings } = await import('../settings/migrate-settings.ts')
      const { changed, changes, text } = await migrateSiteSettings(site, { dryRun })
      return { changed, changes, ...(dryRun && { text }) }
    },
    text: ({ changed, changes, text }) =>
      text?.trimEnd() ?? (changed ? changes.join('\n') : 'nothing to migrate'),
  }),
  defineCommand({
    name: 'schema',
    does: 'print the JSON Schema of one kind of file of a site, or list the kinds',
    examples: ['schema doctype', 'schema --write --site my-site'],
    input: takes({
      kind: '[kind]',
      all: '--write: write all of them into the .schemas folder of the site, where the files of a new site look',
    }),
    run: async ({ kind, all }, { site }) => {
      const { siteSchemas, printedSchema } = await import('../house/site-schemas.ts')
      if (all)
        return {
          folder: (await import('../house/new-site.ts')).writeSchemas(resolve(site)),
          count: siteSchemas.length,
        }
      const kinds = siteSchemas.map(({ kind, files }) => ({ kind, files }))
      if (kind === undefined) return kinds
      const found = siteSchemas.find((one) => one.kind === kind)
      if (found) return await write(printedSchema(found))
      const known = kinds.map((one) => one.kind)
      throw new AppError('not_found', `there is no kind "${kind}"${didYouMean(kind, known)}`)
    },
    text: (done) =>
      'folder' in done! ? `${done.folder}: ${done.count} schemas` : table(done!, ['kind', 'files']),
  }),
]

/** Tells how to make somebody who can sign in to a site without people. */
export function firstPerson(program: string): string {
  return `nobody can sign in yet: add yourself to config/users.yaml, as the lines there show, then: ${program} users invite EMAIL`
}

/** The description of a new site's contents by template, for the person who asked for it. */
const contents: Readonly<Record<Template, string>> = {
  minimal: 'no people, doctypes or documents yet: begin with config/users.yaml',
  trading: 'a small trading company with people and documents to try things with',
  clinic: 'a dental clinic with people and documents to try things with',
}

/** Reports stored documents that do not fit the site; AppError `invalid` when there are any. */
async function checkState(options: Options): Promise<void> {
  const problems = await operate(options, 'site.state_problems', {
    // The path is absolute, since a daemon has a working folder of its own.
    site: resolve(options.site),
  })
  if (problems.length === 0) return
  const lines = problems.map(
    ({ doctype, field, count, examples, message, source }) =>
      `  ${source} ${doctype}${field === undefined ? '' : `.${field}`}: ${message} (${count} documents${examples.length > 0 ? `, such as ${examples.join(', ')}` : ''})`,
  )
  throw new AppError('invalid', `documents in the state do not fit the site:\n${lines.join('\n')}`)
}
