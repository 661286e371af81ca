/** Makes a command from its description: its words, options and arguments come from the schema of its input. */
import { Argument, InvalidArgumentError, Option } from 'commander'
import { AppError } from '#leaf/errors.ts'
import { systemClock } from '#leaf/clock.ts'
import { momentOf } from '#leaf/moments.ts'
import type { Command } from './command.ts'
import type { ProgramPages, RunnableCommand } from './description.ts'
import { facts, print, table } from './terminal.ts'

/** The program that a command is added to. */
export interface Adding<Options> {
  /** Reads the options of every command, for that of a name. */
  readonly read: (flags: Readonly<Record<string, unknown>>, name: string) => Options
  readonly pages: ProgramPages
}

/** Adds a command to another one. */
export function addCommand<Options extends { readonly json: boolean }>(
  parent: Command,
  described: RunnableCommand<never, unknown, Options>,
  { read, pages }: Adding<Options>,
): void {
  // What the schema of its input has been read into fits it.
  const known = described as RunnableCommand<unknown, unknown, Options>
  const { name, does = '', text, examples = [name] } = known
  const { properties, required, minProperties = 0 } = known.input as unknown as ReadInput
  const command = parent.command(name.split(' ').at(-1)!).description(does)
  command.examples = examples.map((line) => `$ ${parent.program.name()} ${line}`)
  const title = command.examples.length === 1 ? 'Example' : 'Examples'
  command.addHelpText('after', `\n${title}:\n${command.examples.map((one) => `  ${one}`).join('\n')}`)
  const asked = Object.entries(properties).filter(([, schema]) => 'x-asked' in schema)
  const readings = asked.map(
    ([name, schema]) => [name, addMember(command, schema, required.includes(name))] as const,
  )
  command.action(async () => {
    const given = readings.map(([name, read]) => [name, read()]).filter(([, value]) => value !== undefined)
    if (given.length < minProperties) {
      const flags = command.options.map(({ long }) => long).join(', ')
      command.error(`error: say which: ${flags.replace(/, (?=[^,]*$)/, ' or ')}`)
    }
    const params: unknown = Object.fromEntries(given)
    const options = read(command.optsWithGlobals(), command.name())
    const result = await known.run(params, options, pages)
    if (result === undefined) return
    print(options.json, result, () => {
      if (typeof text === 'function')
        return [text(result, params)]
          .flat(2)
          .filter((line) => typeof line === 'string')
          .join('\n')
      return text ? table(result as [], text) : facts(result as object)
    })
    const failure = known.failure?.(result as {}, params)
    if (failure) throw new AppError('conflict', failure)
  })
}

/** The parts of an input's schema that the command line reads. */
interface ReadInput {
  readonly properties: Readonly<Record<string, Member>>
  readonly required: readonly string[]
  readonly minProperties?: number
}

interface Member {
  readonly type: string
  readonly enum?: readonly string[]
  readonly default?: unknown
  readonly 'x-asked': string
}

/** Adds an option or an argument, and returns the function that reads its value. */
function addMember(command: Command, schema: Member, required: boolean): () => unknown {
  const { type, enum: choices, default: unsaid, 'x-asked': asked } = schema
  const [, flags = asked, does] = /^(.*?)!?: (.*)$/.exec(asked) ?? []
  const reader =
    type === 'object'
      ? nameAndValue
      : type === 'integer'
        ? (readers[/<(\w+)>$/.exec(flags)?.[1] ?? ''] ?? count)
        : null
  const made = flags.startsWith('-')
    ? new Option(flags, does).makeOptionMandatory(required)
    : new Argument(flags, does)
  if (unsaid !== undefined) made.default(unsaid)
  if (choices && type === 'string') made.choices(choices)
  if (reader) made.argParser(reader)
  if (made instanceof Option) {
    command.addOption(made)
    return () => command.opts()[made.attributeName()] as unknown
  }
  const place = command.registeredArguments.length
  command.addArgument(made)
  // Several words become one text, where a text is wanted.
  const isText = made.variadic && type === 'string'
  return () => (isText ? (command.processedArgs[place] as string[]).join(' ') : command.processedArgs[place])
}

/** The readers of numbers, by their names in help. */
const readers: Readonly<Record<string, (text: string) => number>> = {
  /** Reads a duration such as `90d`, `12h`, `30m` or plain seconds, as seconds. */
  duration: (text) => {
    const match = /^([1-9]\d*)([smhd])?$/.exec(text)
    if (match) return Number(match[1]) * { s: 1, m: 60, h: 3600, d: 86_400 }[(match[2] ?? 's') as 's']
    throw new InvalidArgumentError('must be a number of seconds, or a duration such as 30m, 12h or 90d')
  },
  /** Reads a date, a duration back from now, or the beginning of a local `today` or `yesterday`, as epoch milliseconds. */
  moment: (text) => {
    const time = momentOf(text, systemClock.now())
    if (time !== undefined) return time
    throw new InvalidArgumentError(
      'must be a date such as 2026-01-31 or 2026-01-31T08:00Z, today, yesterday, or a duration back from now such as 2h',
    )
  },
  /** Reads the number of a port. */
  number: (text) => {
    if (/^\d+$/.test(text) && Number(text) <= 65535) return Number(text)
    throw new InvalidArgumentError('must be a number from 0 to 65535')
  },
}

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a whole number')
  return Number(text)
}

function nameAndValue(text: string, before: unknown): object {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('must be name=value')
  return { ...(before as object), [text.slice(0, at)]: text.slice(at + 1) }
}
