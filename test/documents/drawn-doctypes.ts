/** Doctypes, rules, documents and questions as they may come: what the stores are compared on. */
import * as fc from '../helpers/random.ts'
import { siteOf, someone } from './trading-company.ts'

/** A field of a drawn doctype. */
export interface DrawnField {
  readonly name: string
  readonly type: keyof typeof values
  readonly indexed: boolean
  /** Digits after the point, of money. */
  readonly precision: number
  readonly level: 0 | 1
}

/** A doctype with its rules, of which each stands for one of two roles in turns. */
export interface DrawnDoctype {
  readonly fields: readonly DrawnField[]
  readonly rules: readonly DrawnRule[]
}

interface DrawnRule {
  readonly when: string
  readonly ifOwner: boolean
  readonly levels: readonly number[]
}

export const texts = ' a A ab Ab b ä Ä ß SS é e\u0301 İ ς \uffee 🦊 \u{10ffff} 5 true % 10 \\u0000'.split(' ')
const phrases =
  'zwei worte|Apfel-Orange (10)|STRASSE straße|Orangen, Zweige|ab ab_b|apfel; zweig|x1 x10|100 % \\ sure'.split(
    '|',
  )
const dates = ['2025-12-31', '2026-01-01', '2026-01-31', '2026-02-28', '2026-07-01']
const times = ['2025-12-31T23:59:59.999Z', '2026-01-01T00:00:00.000Z', '2026-02-28T12:30:00.000Z']
const numbers = [-1.5, -1, 0, 0.1, 0.30000000000000004, 1, 2, 5, 1660087.55, 1e15]
export const people = ['ann@example.com', 'bob@example.com'] as const
const anyOf = <T>(of: readonly T[]) => fc.constantFrom(...of)
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: null })
/** Also of a kind from before the type of the field was changed. */
const changed = <T>(one: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 9, arbitrary: one }, { weight: 1, arbitrary: anyOf([3, true]) })

/** What a field of each type may hold. */
const values = {
  text: maybe(anyOf(texts)),
  long_text: maybe(
    fc.oneof(
      anyOf(phrases),
      anyOf(texts),
      fc.string({ maxLength: 6, unit: 'binary' }).map((text) => text.replaceAll('\0', '0')),
    ),
  ),
  select: maybe(anyOf(['Open', 'open', 'Öffen'])),
  link: maybe(anyOf(texts)),
  currency: maybe(anyOf(numbers)),
  number: maybe(anyOf(numbers)),
  percent: maybe(anyOf(numbers)),
  integer: maybe(fc.integer({ min: -3, max: 3 })),
  check: maybe(fc.oneof(anyOf([0, 1]), fc.boolean())),
  date: changed(maybe(anyOf(dates))),
  datetime: changed(maybe(anyOf(times))),
  json: fc.oneof(fc.array(anyOf([...people, 3, null]), { maxLength: 2 }), anyOf(people)),
  table: fc.array(
    fc.record({ item: maybe(anyOf(texts)), price: maybe(anyOf(numbers)) }, { requiredKeys: [] }),
    { maxLength: 2 },
  ),
} as const

type Kind = 'text' | 'number' | 'check' | 'date' | 'list' | 'rows'
const kinds: Readonly<Record<Kind, readonly DrawnField['type'][]>> = {
  text: ['text', 'long_text', 'select', 'link'],
  number: ['currency', 'number', 'percent', 'integer'],
  check: ['check'],
  date: ['date', 'datetime'],
  list: ['json'],
  rows: ['table'],
}
const plainTypes = (Object.keys(values) as DrawnField['type'][]).filter(
  (type) => type !== 'json' && type !== 'table',
)
/** Some of them are words of SQL, or stand in the tables of the store. */
const names = [
  'title',
  'order',
  'group',
  'select',
  'data',
  'words',
  'body',
  'collection',
  'key',
  'x',
  'y_1',
  'ends',
]

const namesOf = (fields: readonly DrawnField[], ...of: readonly Kind[]): string[] =>
  fields.filter(({ type }) => of.some((kind) => kinds[kind].includes(type))).map(({ name }) => name)

/** A condition in the words of the site's expressions, over fields of a doctype. */
function conditions(fields: readonly DrawnField[]): fc.Arbitrary<string> {
  const field = (...of: readonly Kind[]) =>
    namesOf(fields, ...of).map((name): { arbitrary: fc.Arbitrary<string>; weight: number } => ({
      arbitrary: fc.constant(`doc.${name}`),
      weight: 2,
    }))
  const written = texts.filter((text) => !/["\\]/.test(text)).map((text) => `"${text}"`)
  const { holds } = fc.letrec<Record<'holds' | 'text' | 'number' | 'date' | 'any' | 'list', string>>(
    (tie) => {
      const call = (name: string, ...of: readonly Parameters<typeof tie>[0][]) =>
        fc.tuple(...of.map((one) => tie(one))).map((args) => `${name}(${args.join(', ')})`)
      const between = (left: Parameters<typeof tie>[0], signs: readonly string[]) =>
        fc.tuple(tie(left), anyOf(signs), tie(left)).map((parts) => `(${parts.join(' ')})`)
      const choice = { maxDepth: 3, depthIdentifier: 'condition' } as const
      const signs = ['=', '!=', '<', '<=', '>', '>=']
      return {
        text: fc.oneof(
          choice,
          { arbitrary: anyOf(written), weight: 3 },
          ...field('text'),
          anyOf(['user.id', 'doc.owner', 'doc.name']),
          call('lower', 'text'),
          call('upper', 'text'),
          call('coalesce', 'text', 'text'),
          call('if', 'holds', 'text', 'text'),
          between('text', ['+']),
        ),
        number: fc.oneof(
          choice,
          { arbitrary: anyOf(['0', '1', '2', '0.1', '1.5', '-1', '1000000000000000']), weight: 3 },
          ...field('number', 'check'),
          between('number', ['+', '-', '*', '/', '%']),
          call('abs', 'number'),
          call('floor', 'number'),
          call('ceil', 'number'),
          call('round', 'number'),
          call('len', 'any'),
          call('count', 'any'),
          call('year', 'date'),
          call('month', 'date'),
          call('days_between', 'date', 'date'),
          call('if', 'holds', 'number', 'number'),
          ...namesOf(fields, 'rows').map((name) => fc.constant(`sum(doc.${name}.price)`)),
        ),
        date: fc.oneof(
          choice,
          { arbitrary: anyOf([...dates, ...times].map((date) => `"${date}"`)), weight: 2 },
          ...field('date'),
          anyOf(['today()', 'doc.creation', 'doc.modified']),
          call('add_days', 'date', 'number'),
        ),
        list: fc.oneof(
          fc
            .array(fc.oneof(anyOf(written), anyOf(['0', '1', 'null', 'true'])), { maxLength: 3 })
            .map((all) => `[${all.join(', ')}]`),
          ...field('list', 'text'),
          ...namesOf(fields, 'rows').map((name) => fc.constant(`doc.${name}.item`)),
          fc.constant('user.roles'),
        ),
        any: fc.oneof(choice, tie('text'), tie('number'), tie('date'), tie('list'), fc.constant('null')),
        holds: fc.oneof(
          choice,
          between('number', signs),
          between('text', signs),
          between('date', signs),
          between('any', ['=', '!=', '<']),
          ...field('check'),
          fc.tuple(tie('any'), tie('list')).map(([one, list]) => `(${one} in ${list})`),
          between('holds', ['and', 'or']),
          tie('holds').map((one) => `not (${one})`),
          call('starts_with', 'text', 'text'),
          call('ends_with', 'text', 'text'),
          call('contains', 'text', 'text'),
          anyOf(['has_role("Boss")', 'doc.owner = user.id']),
          tie('list').map((list) => `has_role(${list})`),
        ),
      }
    },
  )
  return holds.filter((text) => text.length <= 500)
}

const fields: fc.Arbitrary<readonly DrawnField[]> = fc
  .tuple(
    fc.array(anyOf(plainTypes), { minLength: 3, maxLength: 8 }),
    fc.shuffledSubarray(names, { minLength: names.length }),
    fc.infiniteStream(fc.tuple(fc.boolean(), fc.nat({ max: 4 }), anyOf([0, 0, 0, 1] as const))),
  )
  .map(([drawn, shuffled, more]) => {
    // A title, something to add up, and what is no single value are always there.
    const types = ['text' as const, 'currency' as const, ...drawn, 'json' as const, 'table' as const]
    return types.map((type, index) => {
      const [indexed, precision, level] = more.next().value
      return { name: shuffled[index]!, type, indexed, precision, level: index < 2 ? 0 : level }
    })
  })

/** A doctype as anybody may think of one. */
export const doctypes: fc.Arbitrary<DrawnDoctype> = fields.chain((drawn) =>
  fc.record({
    fields: fc.constant(drawn),
    rules: fc.array(
      fc.record({
        when: fc.oneof(
          { weight: 4, arbitrary: conditions(drawn) },
          { weight: 1, arbitrary: fc.constant('') },
        ),
        ifOwner: anyOf([false, false, false, true]),
        levels: anyOf([[0, 1], [0, 1], [0]]),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  }),
)

/** The site that has the doctype. */
export function siteWith(
  { fields, rules }: DrawnDoctype,
  also: {
    readonly thing?: object
    readonly field?: (field: DrawnField) => object
    readonly files?: Record<string, string>
  } = {},
): ReturnType<typeof siteOf> {
  const more: Partial<Record<DrawnField['type'], (field: DrawnField) => object>> = {
    currency: ({ precision }) => ({ precision }),
    select: () => ({ options: ['Open', 'open', 'Öffen'] }),
    link: () => ({ doctype: 'Thing' }),
    table: () => ({ doctype: 'Item' }),
  }
  const doctype = {
    doctype: 'Thing',
    ...(also.thing ?? { naming: { rule: 'hash' } }),
    title_field: fields[0]!.name,
    fields: fields.map((field) => ({
      fieldname: field.name,
      type: field.type,
      ...(field.indexed && field.type !== 'json' && field.type !== 'table' && { index: true }),
      ...(field.level > 0 && { level: field.level }),
      ...more[field.type]?.(field),
      ...also.field?.(field),
    })),
    permissions: rules.map(({ when, ifOwner, levels }, index) => ({
      role: index % 2 ? 'Boss' : 'Clerk',
      actions: ['read'],
      levels,
      ...(ifOwner && { if_owner: true }),
      ...(when !== '' && { when }),
    })),
  }
  return siteOf({
    'config/doctypes/item.yaml':
      'doctype: Item\nchild: true\nfields: [{fieldname: item, type: text}, {fieldname: price, type: number}]',
    'config/doctypes/thing.yaml': JSON.stringify(doctype),
    ...also.files,
  })
}

/** What documents of the doctype hold: a field may be missing, null, or of a kind from before its type was changed. */
export function documentsOf({ fields }: DrawnDoctype): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(
    {
      ...Object.fromEntries(
        fields.map(({ name, type, precision }) => [
          name,
          type === 'currency' ? money(precision) : values[type],
        ]),
      ),
      owner: anyOf(people),
    },
    { requiredKeys: ['owner'] },
  )
}

/** Amounts as they are kept: with no more digits than the field has. */
function money(places: number): fc.Arbitrary<number | null> {
  return maybe(anyOf(numbers.map((number) => Number(Math.min(number, 99_999_999_999).toFixed(places)))))
}

const value = fc.oneof(
  anyOf(texts),
  anyOf(numbers),
  anyOf([...dates, ...times]),
  fc.boolean(),
  fc.constant(null),
)

function filtersOf(all: readonly DrawnField[]): fc.Arbitrary<unknown> {
  const plain = all.filter(({ type }) => type !== 'table').map(({ name }) => name)
  return fc.oneof(
    fc.tuple(
      anyOf([...plain, 'name', 'owner', 'docstatus', 'creation']),
      anyOf(['=', '!=', '<', '<=', '>', '>=']),
      value,
    ),
    fc.tuple(anyOf(plain), anyOf(['in', 'not in']), fc.array(value, { maxLength: 4 })),
    fc.tuple(
      anyOf([...namesOf(all, 'text', 'number'), 'name']),
      anyOf(['like', 'not like']),
      anyOf(['a', '%b', 'Ä%', '%', 'ss', '_b', '%5%', 'ß', '', '0 % \\']),
    ),
    fc.tuple(anyOf(plain), fc.constant('is'), anyOf(['set', 'not set'])),
    fc.tuple(anyOf(plain), fc.constant('between'), fc.tuple(value, value)),
  )
}

function groupsOf(all: readonly DrawnField[]) {
  const single = all.filter(({ type }) => type !== 'table' && type !== 'json').map(({ name }) => name)
  const parts = namesOf(all, 'date').flatMap((name) =>
    ['year', 'quarter', 'month', 'week', 'day'].map((part) => `${name}:${part}`),
  )
  return fc.record({
    groupBy: fc.uniqueArray(anyOf([...single, 'owner', 'name', 'creation:day', ...parts]), { maxLength: 2 }),
    metrics: fc
      .uniqueArray(
        fc.oneof(
          fc.constant(['count'] as const),
          fc.tuple(anyOf(['sum', 'avg'] as const), anyOf(namesOf(all, 'number'))),
          fc.tuple(anyOf(['count', 'min', 'max'] as const), anyOf([...single, 'name'])),
        ),
        { minLength: 1, maxLength: 3, selector: (one) => one.join() },
      )
      .map((some) =>
        some.map(([kind, field], index) => ({
          function: kind,
          as: `m${index}`,
          ...(field !== undefined && { field }),
        })),
      ),
    by: fc.nat(),
    direction: anyOf(['', ' asc', ' desc']),
    limit: fc.integer({ min: 1, max: 30 }),
    offset: anyOf([0, 0, 3, 100]),
  })
}

/** What somebody may ask about documents of the doctype. */
export function questionsOf({ fields }: DrawnDoctype) {
  const plain = fields.filter(({ type }) => type !== 'table' && type !== 'json').map(({ name }) => name)
  return fc.record({
    filters: fc.array(filtersOf(fields), { maxLength: 3 }),
    orderBy: fc
      .uniqueArray(fc.tuple(anyOf([...plain, 'name', 'creation', 'owner']), anyOf(['asc', 'desc'])), {
        maxLength: 3,
        minLength: 1,
        selector: ([field]) => field,
      })
      .map((keys) => keys.map((key) => key.join(' ')).join(', ')),
    limit: fc.integer({ min: 1, max: 30 }),
    offset: anyOf([0, 0, 0, 3, 20]),
    grouped: groupsOf(fields),
    words: anyOf(
      'a|ab|Ä|ss|straße 10|zwei worte|orangen|apfel orange|oragnen|apfle zweig|T 5|x1|🦊|ab b 10'.split('|'),
    ),
    typed: anyOf(['', 'a', 'SS', 'ÄP', '%', 'orange', '1', '_', '\\']),
    who: anyOf([
      someone(people[0], 'Clerk'),
      someone(people[1], 'Clerk', 'Boss'),
      someone('eve@example.com', 'Guest'),
    ]),
  })
}
