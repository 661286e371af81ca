import { writeFileSync } from 'node:fs'
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from './command.ts'
import { AppError } from '../core/errors.ts'
import type { PromptTestResult } from '../library/prompt-tests.ts'
import { promptStatuses } from '../library/words.ts'
import type { TemplateDifference } from '../library/history.ts'
import { askAndPrint, type Answer } from './control.ts'
import { countOption } from './durations.ts'
import { readOptions } from './options.ts'
import { print, table, visible } from './output.ts'
import { differencesSince, isFile, previewFile, showAgain, testPrompts } from './prompt-files.ts'

type Arguments = Record<string, string>

/** `assistant-core prompts …`: the prompt library. */
export function addPromptsCommands(program: Command): void {
  const prompts = program
    .command('prompts')
    .description('the prompt library: list, try, test, compare and restore prompt templates')

  prompts
    .command('list')
    .description('list the prompts of the site and the built-in ones')
    .example('prompts list --user sales@example.com')
    .option('--user <user>', 'only those that this user is listed')
    .action((flags: { user?: string }, command: Command) =>
      askAndPrint(command, 'prompts.list', flags, rowsText),
    )

  prompts
    .command('show <id>')
    .description('show one prompt whole')
    .example('prompts show sales_analysis')
    .action((id: string, _flags, command: Command) =>
      askAndPrint(
        command,
        'prompts.show',
        { prompt: id },
        ({ template_content, arguments: declared, ...facts }) =>
          [
            ...Object.entries(facts).map(([key, value]) => `${key.padEnd(18)}${visible(String(value))}`),
            `arguments         ${JSON.stringify(declared)}`,
            '',
            template_content,
          ].join('\n'),
      ),
    )

  addAuthorCommands(prompts)
  addVersionCommands(prompts)
  addWritingCommands(prompts)
  addSearchCommands(prompts)
}

/** What an author works with before a prompt is in use. */
function addAuthorCommands(prompts: Command): void {
  prompts
    .command('preview <id-or-file>')
    .description('print a prompt as a client would get it; a file of your own need not be part of the site')
    .example(
      'prompts preview sales_analysis --arg analysis_focus=revenue_trends',
      'prompts preview prompts/visit_report.md --arg customer=Acme --watch',
    )
    .option('--arg <name=value>', 'an argument; repeatable', argumentOption, {})
    .option('--user <user>', 'as this user would get it')
    .option('--watch', 'again whenever the file changes')
    .action(
      async (id: string, flags: { arg: Arguments; user?: string; watch?: boolean }, command: Command) => {
        if (!isFile(id)) {
          const params = { prompt: id, arguments: flags.arg, user: flags.user }
          return askAndPrint(command, 'prompts.preview', params, ({ text }) => text)
        }
        const options = readOptions(command)
        const show = async (): Promise<void> =>
          print(options.json, { text: await previewFile(id, flags.arg) }, ({ text }) => text)
        if (!flags.watch) return show()
        return await showAgain(id, show)
      },
    )

  prompts
    .command('test [ids...]')
    .description('run the tests that prompt files hold (tests:)')
    .example('prompts test visit_report --site my-site')
    .option('--junit <file>', 'also write a JUnit report')
    .action(async (ids: string[], flags: { junit?: string }, command: Command) => {
      const options = readOptions(command)
      const results = await testPrompts(options.site, ids)
      if (flags.junit)
        writeFileSync(flags.junit, (await import('../library/prompt-tests.ts')).junitReport(results))
      const failed = results.filter((result) => !result.ok)
      print(options.json, results, testText)
      if (failed.length > 0)
        throw new AppError('invalid', `${failed.length} of ${results.length} prompt tests failed`)
    })
}

function addVersionCommands(prompts: Command): void {
  prompts
    .command('history <id>')
    .description('show the versions of a prompt, with author, time and difference')
    .example('prompts history visit_report -n 3')
    .option('-n <count>', 'how many', countOption, 10)
    .action((id: string, flags: { n: number }, command: Command) =>
      askAndPrint(
        command,
        'prompts.history',
        { body: { prompt_id: id, limit: Math.max(1, flags.n) } },
        (list) =>
          list
            .map((one) =>
              `${one.version === null ? 'not committed' : `version ${one.version}`}${one.current ? ' (in use)' : ''}  ${one.time === null ? '' : `${one.time}  ${visible(one.author)}  ${one.commit?.slice(0, 12) ?? ''}`}\n${one.diff}`.trimEnd(),
            )
            .join('\n\n'),
      ),
    )

  prompts
    .command('diff <ref>')
    .description('compare the prompts of the site with those of a branch, tag or commit')
    .example('prompts diff main')
    .action(async (ref: string, _flags, command: Command) => {
      const options = readOptions(command)
      const differences = await differencesSince(options.site, ref)
      print(
        options.json,
        differences,
        (list) => list.map(differenceText).join('\n\n') || `no difference from ${ref}`,
      )
      const wrong = differences.filter(({ status }) => status?.allowed === false).map(({ id }) => id)
      if (wrong.length > 0)
        throw new AppError(
          'invalid',
          `the status may not go that way: ${wrong.join(', ')}; the order is Draft, Published, Deprecated, Archived, or back to Draft`,
        )
    })
}

function addWritingCommands(prompts: Command): void {
  prompts
    .command('restore <id> <version>')
    .description('put the content, engine and arguments of an older version back into the file')
    .example('prompts restore visit_report 2')
    .option('--user <user>', 'as this user; without it, as the operator')
    .action((id: string, version: string, { user }: { user?: string }, command: Command) => {
      const body = { prompt_id: id, version: countOption(version) }
      return askAndPrint(command, 'prompts.restore', { body, user }, writtenText)
    })

  prompts
    .command('version <id>')
    .description('copy a prompt under its id with the suffix _v2, _v3, …')
    .example('prompts version visit_report --notes "for the spring campaign"')
    .option('--notes <text>', 'what this version is')
    .option('--user <user>', 'as this user; without it, as the operator')
    .action((id: string, { notes, user }: { notes?: string; user?: string }, command: Command) =>
      askAndPrint(command, 'prompts.version', { body: { prompt_id: id, notes }, user }, writtenText),
    )

  prompts
    .command('duplicate <id>')
    .description('make a private copy of a prompt for a user')
    .example('prompts duplicate sales_analysis --user sales@example.com')
    .requiredOption('--user <user>', 'whose copy it is')
    .action((id: string, { user }: { user: string }, command: Command) =>
      askAndPrint(command, 'prompts.duplicate', { body: { prompt_id: id }, user }, writtenText),
    )
}

function addSearchCommands(prompts: Command): void {
  prompts
    .command('search <words...>')
    .description('find prompts by id, title, description, content and tags')
    .example('prompts search quarterly revenue')
    .option('--user <user>', 'only those that this user may see')
    .addOption(new Option('--status <status>', 'in this status').choices(promptStatuses))
    .action((words: string[], { user, status }: { user?: string; status?: string }, command: Command) =>
      askAndPrint(command, 'prompts.search', { body: { query: words.join(' '), status }, user }, rowsText),
    )

  prompts
    .command('usage')
    .description('list the prompts that are used most')
    .example('prompts usage -n 5')
    .option('-n <count>', 'how many', countOption, 20)
    .action((flags: { n: number }, command: Command) =>
      askAndPrint(command, 'prompts.usage', { body: { limit: Math.max(1, flags.n) } }, rowsText),
    )
}

function rowsText(rows: Answer<'prompts.list'>): string {
  return table(rows, {
    prompt: 'prompt_id',
    title: 'title',
    status: 'status',
    visibility: 'visibility',
    version: ({ version_number: version }) => version ?? 'not committed',
    uses: 'use_count',
  })
}

function writtenText({ prompt_id, file, commit }: Answer<'prompts.restore'>): string {
  return `${prompt_id}: wrote ${file}${commit === null ? '' : ` in commit ${commit.slice(0, 12)}`}`
}

function differenceText({ id, kind, file, newVersion, status, diff }: TemplateDifference): string {
  const facts = [
    kind,
    ...(newVersion ? ['new version'] : []),
    ...(status ? [`${status.from} to ${status.to}`] : []),
  ]
  return `${id} (${file}): ${facts.join(', ')}\n${diff}`.trimEnd()
}

function testText(results: readonly PromptTestResult[]): string {
  const lines = results.flatMap(({ ok, prompt, test, problems }) => [
    `${ok ? 'ok  ' : 'FAIL'}  ${prompt}: ${test}`,
    ...problems.map((problem) => `      ${problem.replaceAll('\n', '\n      ')}`),
  ])
  return [...lines, `${results.filter((result) => result.ok).length} of ${results.length} tests passed`].join(
    '\n',
  )
}

function argumentOption(text: string, before: Arguments): Arguments {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('must be name=value')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}
