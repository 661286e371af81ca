import { writeFileSync } from 'node:fs'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { AppError } from '../core/errors.ts'
import type { PromptTestResult } from '../library/prompt-tests.ts'
import type { TemplateDifference } from '../library/history.ts'
import type { PromptRow } from '../library/prompt-rows.ts'
import { operate } from './control.ts'
import { countOption } from './durations.ts'
import { readOptions, type Options } from './options.ts'
import { print, table, visible } from './output.ts'
import { differencesSince, isFile, previewFile, showAgain, testPrompts } from './prompt-files.ts'

type Arguments = Record<string, string>

interface HistoryEntry {
  readonly version: number
  readonly author: string
  readonly time: string
  readonly commit: string | null
  readonly current: boolean
  readonly diff: string
}

/** `assistant-core prompts …`: the prompt library. */
export function addPromptsCommands(program: Command): void {
  const prompts = program
    .command('prompts')
    .description('the prompt library: list, try, test, compare and restore prompt templates')

  prompts
    .command('list')
    .description('list the prompts of the site and the built-in ones')
    .option('--user <user>', 'only those that this user is listed')
    .action(async (flags: { user?: string }, command: Command) =>
      listed(readOptions(command), 'prompts.list', flags),
    )

  prompts
    .command('show <id>')
    .description('show one prompt whole')
    .action(async (id: string, _flags, command: Command) => {
      const options = readOptions(command)
      print(
        options.json,
        await operate<PromptRow & { file: string; arguments: unknown; template_content: string }>(
          options,
          'prompts.show',
          { prompt: id },
        ),
        (shown) =>
          [
            ...Object.entries(shown)
              .filter(([key]) => key !== 'template_content' && key !== 'arguments')
              .map(([key, value]) => `${key.padEnd(18)}${visible(String(value))}`),
            `arguments         ${JSON.stringify(shown.arguments)}`,
            '',
            shown.template_content,
          ].join('\n'),
      )
    })

  prompts
    .command('preview <id-or-file>')
    .description('print a prompt as a client would get it; a file of your own need not be part of the site')
    .option('--arg <name=value>', 'an argument; repeatable', argumentOption, {})
    .option('--user <user>', 'as this user would get it')
    .option('--watch', 'again whenever the file changes')
    .action(
      async (id: string, flags: { arg: Arguments; user?: string; watch?: boolean }, command: Command) => {
        const options = readOptions(command)
        if (!isFile(id)) {
          const result = await operate<{ text: string }>(options, 'prompts.preview', {
            prompt: id,
            arguments: flags.arg,
            user: flags.user,
          })
          return print(options.json, result, ({ text }) => text)
        }
        const show = async (): Promise<void> =>
          print(options.json, { text: await previewFile(id, flags.arg) }, ({ text }) => text)
        if (!flags.watch) return show()
        return await showAgain(id, show)
      },
    )

  prompts
    .command('test [ids...]')
    .description('run the tests that prompt files hold (tests:)')
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

  prompts
    .command('history <id>')
    .description('show the versions of a prompt, with author, time and difference')
    .option('-n <count>', 'how many', countOption, 10)
    .action(async (id: string, flags: { n: number }, command: Command) => {
      const options = readOptions(command)
      const result = await method<HistoryEntry[]>(options, 'get_version_history', {
        prompt_id: id,
        limit: Math.max(1, flags.n),
      })
      print(options.json, result, (list) =>
        list
          .map((one) =>
            `version ${one.version}${one.current ? ' (in use)' : ''}  ${one.time}  ${visible(one.author)}  ${one.commit?.slice(0, 12) ?? ''}\n${one.diff}`.trimEnd(),
          )
          .join('\n\n'),
      )
    })

  prompts
    .command('diff <ref>')
    .description('compare the prompts of the site with those of a branch, tag or commit')
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

  prompts
    .command('restore <id> <version>')
    .description('put the content, engine and arguments of an older version back into the file')
    .option('--user <user>', 'as this user; without it, as the operator')
    .action(async (id: string, version: string, flags: { user?: string }, command: Command) =>
      written(
        readOptions(command),
        'restore_version',
        { prompt_id: id, version: countOption(version) },
        flags.user,
      ),
    )

  prompts
    .command('version <id>')
    .description('copy a prompt under its id with the suffix _v2, _v3, …')
    .option('--notes <text>', 'what this version is')
    .option('--user <user>', 'as this user; without it, as the operator')
    .action(async (id: string, flags: { notes?: string; user?: string }, command: Command) =>
      written(readOptions(command), 'create_version', { prompt_id: id, notes: flags.notes }, flags.user),
    )

  prompts
    .command('duplicate <id>')
    .description('make a private copy of a prompt for a user')
    .requiredOption('--user <user>', 'whose copy it is')
    .action(async (id: string, flags: { user: string }, command: Command) =>
      written(readOptions(command), 'duplicate_as_private', { prompt_id: id }, flags.user),
    )

  prompts
    .command('search <words...>')
    .description('find prompts by id, title, description, content and tags')
    .option('--user <user>', 'only those that this user may see')
    .addOption(
      new Option('--status <status>', 'in this status').choices([
        'Draft',
        'Published',
        'Deprecated',
        'Archived',
      ]),
    )
    .action(async (words: string[], flags: { user?: string; status?: string }, command: Command) => {
      const options = readOptions(command)
      printRows(
        options,
        await method<PromptRow[]>(
          options,
          'search_prompts',
          { query: words.join(' '), status: flags.status },
          flags.user,
        ),
      )
    })

  prompts
    .command('usage')
    .description('list the prompts that are used most')
    .option('-n <count>', 'how many', countOption, 20)
    .action(async (flags: { n: number }, command: Command) => {
      const options = readOptions(command)
      printRows(
        options,
        await method<PromptRow[]>(options, 'get_popular_prompts', { limit: Math.max(1, flags.n) }),
      )
    })
}

function method<Result>(options: Options, name: string, body: object, user?: string): Promise<Result> {
  return operate<Result>(options, 'prompts.method', { method: name, body, user })
}

async function listed(options: Options, operation: string, params: object): Promise<void> {
  printRows(options, await operate<PromptRow[]>(options, operation, params))
}

function printRows(options: Options, rows: PromptRow[]): void {
  print(options.json, rows, (list) =>
    table(
      ['prompt', 'title', 'status', 'visibility', 'version', 'uses'],
      list.map((row) => [
        row.prompt_id,
        row.title,
        row.status,
        row.visibility,
        row.version_number,
        row.use_count,
      ]),
    ),
  )
}

async function written(options: Options, name: string, body: object, user?: string): Promise<void> {
  const result = await method<{ prompt_id: string; file: string; commit: string | null }>(
    options,
    name,
    body,
    user,
  )
  print(
    options.json,
    result,
    (done) =>
      `${done.prompt_id}: wrote ${done.file}${done.commit === null ? '' : ` in commit ${done.commit.slice(0, 12)}`}`,
  )
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
