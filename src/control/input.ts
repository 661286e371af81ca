import type { Fits } from '../tools/tool.ts'

/** The input of a command: the schema of an object, with the command-line form of each member. */
export type Input = Readonly<Record<string, unknown>>

/** The type of values that fit an input. */
export type ParamsOf<Schema> = Fits<Schema>

/** The type of a flag's value by the word in its brackets; every other word is a text, and a flag without one is a boolean. */
const kinds = {
  count: { type: 'integer' },
  duration: { type: 'integer' },
  moment: { type: 'integer' },
  number: { type: 'integer' },
  seq: { type: 'integer' },
  version: { type: 'integer' },
  // Successive words are one text.
  'words...': { type: 'string' },
  'name=value': { type: 'object' },
} as const

type Kinds = typeof kinds
type Flags<Told> = Told extends `${infer Found}: ${string}` ? Found : Told
type Word<Found> = Found extends `${string}<${infer One}>` | `${string}[${infer One}]` ? One : never
type Kind<One> = [One] extends [never]
  ? { readonly type: 'boolean' }
  : One extends keyof Kinds
    ? Kinds[One]
    : One extends `${string}...`
      ? { readonly type: 'array'; readonly items: { readonly type: 'string' } }
      : { readonly type: 'string' }
type Flagged<Told> = Kind<Word<Flags<Told>>> & { readonly 'x-asked': Told }
type Schema<Member> = Member extends string ? Flagged<Member> : Member
type Placed<Members> = {
  [Name in keyof Members]: Schema<Members[Name]> extends { readonly 'x-asked': `<${string}` } ? Name : never
}[keyof Members]

/**
 * Makes a member that the command line asks for: its flag and, behind a colon, its help (`--user <user>: of this user`,
 * `-f, --follow: go on`). Without a dash it is positional: `<id>`, `[name]`, `<words...>`.
 */
export function asks<const Told extends string, const Rest extends Input>(
  told: Told,
  rest: Rest,
): Flagged<Told> & Rest {
  const word = /[<[](.+)[>\]]$/.exec(told.split(': ')[0]!)?.[1]
  const kind = Object.hasOwn(kinds, word ?? '')
    ? kinds[word as keyof Kinds]
    : word?.endsWith('...')
      ? { type: 'array', items: { type: 'string' } }
      : { type: word === undefined ? 'boolean' : 'string' }
  return { ...kind, ...rest, 'x-asked': told } as unknown as Flagged<Told> & Rest
}

/** The inputs that an object without members fits. */
export const asksNothing = new WeakSet<object>()

/** Makes the input of a command: members in the form of `asks`, or schemas without a flag. Required: `<>` and the named ones. */
export function takes<
  const Members extends Readonly<Record<string, string | Input>>,
  Required extends keyof Members & string = never,
>(
  members: Members,
  ...required: readonly Required[]
): {
  readonly type: 'object'
  readonly required: readonly (Required | Placed<Members>)[]
  readonly properties: { readonly [Name in keyof Members]: Schema<Members[Name]> }
} {
  const properties = Object.fromEntries(
    Object.entries(members).map(([name, one]) => [name, typeof one === 'string' ? asks(one, {}) : one]),
  )
  const isPlaced = (name: string): boolean => String(properties[name]!['x-asked']).startsWith('<')
  const all = [...required, ...Object.keys(members).filter(isPlaced)]
  const input = { type: 'object', additionalProperties: false, required: all, properties }
  if (all.length === 0) asksNothing.add(input)
  return input as never
}
