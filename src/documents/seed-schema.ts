/** What `config/seeds/*.yaml` looks like: how to make documents for a new state. */
import type { JSONSchema } from '../core/schema.ts'
import { objectWith } from '../core/object-schema.ts'

const text = { type: 'string', minLength: 1 } as const
const pair = { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 } as const

/** How one value is made; a plain value stands for itself. */
export interface SeedMaker {
  /** One of these, by chance. */
  readonly pick?: readonly unknown[]
  /** These in turn. */
  readonly cycle?: readonly unknown[]
  /** A text with `{n}` for the number of the document and `{field}` for what is there already. */
  readonly text?: string
  /** All combinations of the lists in turn, joined by a blank. */
  readonly product?: readonly (readonly string[])[]
  /** Between the two, in steps of `step`, by default 1. */
  readonly number?: readonly [number, number]
  readonly step?: number
  /** A day from the first to the second, such as 2026-03-31. */
  readonly date?: readonly [string, string]
  /** Days from and to after another field. */
  readonly after?: string
  readonly days?: readonly [number, number]
  /** The name of some document of a doctype. */
  readonly link?: string
  /** The value of `field` in the document that the field `from` links to. */
  readonly from?: string
  readonly field?: string
  /** What was found, times a number between the two. */
  readonly factor?: readonly [number, number]
  /** So many rows of a table, each made by `fields`. */
  readonly rows?: readonly [number, number]
  readonly fields?: Readonly<Record<string, unknown>>
  /** How often there is a value at all. */
  readonly chance?: number
}

/** Documents of one doctype. */
export interface Seed {
  readonly doctype: string
  readonly count?: number
  /** Users, by chance; without them the owner is `system`. */
  readonly owners?: readonly string[]
  /** The days between which they were created; names follow the dates. */
  readonly created?: readonly [string, string]
  /** The share that is submitted, and what they have otherwise. */
  readonly submit?: number
  readonly submitted?: Readonly<Record<string, unknown>>
  readonly fields?: Readonly<Record<string, unknown>>
  /** Documents written out; `fields` adds what they leave open. */
  readonly records?: readonly Readonly<Record<string, unknown>>[]
}

const seed = objectWith(
  { doctype: text },
  {
    count: { type: 'integer', minimum: 1, maximum: 10000 },
    owners: { type: 'array', items: text, minItems: 1 },
    created: { type: 'array', items: text, minItems: 2, maxItems: 2 },
    submit: { type: 'number', minimum: 0, maximum: 1 },
    submitted: { type: 'object' },
    fields: { type: 'object' },
    records: { type: 'array', items: { type: 'object' } },
  },
)

/**
 * The shape of one file. `fields` may hold any plain value, so its makers are checked one by one with
 * `makerSchema`.
 */
export const seedsSchema = objectWith({ seeds: { type: 'array', items: seed } }) satisfies JSONSchema

/** The shape of one maker; the first of its keys that seeds.ts knows decides what it makes. */
export const makerSchema = {
  ...objectWith(
    {},
    {
      pick: { type: 'array', minItems: 1 },
      cycle: { type: 'array', minItems: 1 },
      text,
      product: { type: 'array', items: { type: 'array', items: text, minItems: 1 }, minItems: 1 },
      number: pair,
      step: { type: 'number', exclusiveMinimum: 0 },
      date: { type: 'array', items: text, minItems: 2, maxItems: 2 },
      after: text,
      days: pair,
      link: text,
      from: text,
      field: text,
      factor: pair,
      rows: pair,
      fields: { type: 'object' },
      chance: { type: 'number', minimum: 0, maximum: 1 },
    },
  ),
  minProperties: 1,
} satisfies JSONSchema
