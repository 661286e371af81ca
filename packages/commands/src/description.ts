/** Describes commands: what each takes, as a schema that says how a command line asks for it, and what it prints. */
import type { TextColumn } from './terminal.ts'

/** The input of a command: the schema of an object, with the command-line form of each member. */
export type Input = Readonly<Record<string, unknown>>

/** The type of values that fit an input. */
export type ParamsOf<Schema> = Schema extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : Schema extends { readonly type: 'string' }
    ? string
    : Schema extends { readonly type: 'integer' }
      ? number
      : Schema extends { readonly type: 'boolean' }
        ? boolean
        : Schema extends { readonly type: 'array'; readonly items: infer Item }
          ? readonly ParamsOf<Item>[]
          : Schema extends { readonly properties: infer All; readonly required: readonly (infer Key)[] }
            ? { readonly [Name in keyof All as Name extends Key ? Name : never]: ParamsOf<All[Name]> } & {
                readonly [Name in keyof All as Name extends Key ? never : Name]?: ParamsOf<All[Name]>
              }
            : Readonly<Record<string, unknown>>

/** What follows a flag, by the word in its brackets: these are whole numbers; a flag without a word is a boolean. */
const numbers = ['count', 'duration', 'moment', 'number', 'seq', 'version'] as const

type Flags<Told> = Told extends `${infer Found}!: ${string}` | `${infer Found}: ${string}` ? Found : Told
type Word<Found> = Found extends `${string}<${infer One}>` | `${string}[${infer One}]` ? One : never
type Kind<One> = [One] extends [never]
  ? { readonly type: 'boolean' }
  : One extends (typeof numbers)[number]
    ? { readonly type: 'integer' }
    : One extends 'name=value'
      ? { readonly type: 'object' }
      : One extends 'words...'
        ? { readonly type: 'string' }
        : One extends `${string}...`
          ? { readonly type: 'array'; readonly items: { readonly type: 'string' } }
          : { readonly type: 'string' }
type Flagged<Told> = Kind<Word<Flags<Told>>> & { readonly 'x-asked': Told }
type Schema<Member> = Member extends string ? Flagged<Member> : Member
type Placed<Members> = {
  [Name in keyof Members]: Schema<Members[Name]> extends {
    readonly 'x-asked': `<${string}` | `${string}!: ${string}`
  }
    ? Name
    : never
}[keyof Members]

/**
 * Makes a member that the command line asks for: its flag and, behind a colon, its help (`--user <user>: of this user`,
 * `-f, --follow: go on`; `--user <user>!: of this user` must be given). Without a dash it is positional: `<id>`, `[name]`,
 * `<words...>`.
 */
export function asks<const Told extends string, const Rest extends Input>(
  told: Told,
  rest: Rest,
): Flagged<Told> & Rest {
  const word = /[<[](.+)[>\]]!?$/.exec(told.split(': ')[0]!)?.[1]
  const number = numbers.some((one) => one === word) && 'integer'
  // Several words are one text, where nothing else is said.
  const list = word?.endsWith('...') && word !== 'words...' && { type: 'array', items: { type: 'string' } }
  const kind = list || { type: number || (!word ? 'boolean' : word === 'name=value' ? 'object' : 'string') }
  return { ...kind, ...rest, 'x-asked': told } as unknown as Flagged<Told> & Rest
}

/** Makes the input of a command: members in the form of `asks`, or schemas without a flag. */
export function takes<const Members extends Readonly<Record<string, string | Input>>>(
  members: Members,
): {
  readonly type: 'object'
  readonly required: readonly Placed<Members>[]
  readonly properties: { readonly [Name in keyof Members]: Schema<Members[Name]> }
} {
  const properties = Object.fromEntries(
    Object.entries(members).map(([name, one]) => [name, typeof one === 'string' ? asks(one, {}) : one]),
  )
  const required = Object.keys(members).filter((name) =>
    /^<|^[^:]*!: /.test(String(properties[name]!['x-asked'])),
  )
  return { type: 'object', additionalProperties: false, required, properties } as never
}

/** A command of the command line, as help, manual and completion show it. */
export interface CommandDescription<Params = unknown, Result = unknown> {
  /** The effect of the command, in the words of help. */
  readonly does?: string
  /** Examples to type, without the name of the program; by default the command alone. */
  readonly examples?: readonly string[]
  readonly input: Input
  /** The result for people: the columns of a list, or words; by default a line for each member. `--json` prints it as it is. */
  readonly text?: ColumnsOf<NoInfer<Result>> | Worded<NoInfer<Result>, Params>['text']
}

type ColumnsOf<Result> = unknown extends Result
  ? readonly TextColumn<never>[]
  : Result extends readonly (infer Row)[]
    ? readonly TextColumn<Row>[]
    : never

type Line = string | readonly string[] | false | null | undefined

interface Worded<Result, Params> {
  /** Returns a text, or its lines; what is no text is left out. */
  text(result: Result, params: Params): string | readonly Line[]
}

/** What is made of all commands of a program. */
export interface ProgramPages {
  /** Returns the manual page, as roff source. */
  manual(): string
  /** Returns the completion script of a shell. */
  completion(shell: 'bash' | 'zsh' | 'fish'): string
}

/** A command with the code that runs it. */
export interface RunnableCommand<
  Params = unknown,
  Result = unknown,
  Options = unknown,
> extends CommandDescription<Params, Result> {
  /** The words of the command, after the name of the program. */
  readonly name: string
  /** Runs the command; an undefined result is not printed. */
  run(params: Params, options: Options, pages: ProgramPages): Promise<Result>
  /** Returns why the command fails after printing, so that a job sees it in the exit code; false when all is well. */
  failure?(result: NonNullable<Result>, params: Params): string | false
}

/** Returns the function that defines commands of a program with such options, so that their code gets the type of its input. */
export function commandsWith<Options>() {
  return <const Schema extends Input, Result>(
    command: { readonly input: Schema } & RunnableCommand<ParamsOf<Schema>, Result, Options>,
  ): typeof command => command
}
