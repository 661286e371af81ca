/** What `config/seeds/*.yaml` looks like: how to make documents for a new state. */
import type { FromSchema, JSONSchema } from '../core/schema.ts'
import { objectWith } from '../core/object-schema.ts'

const text = { type: 'string', minLength: 1 } as const
const pair = { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 } as const

const seed = objectWith(
  { doctype: text },
  {
    count: { type: 'integer', minimum: 1, maximum: 10000 },
    // Users, by chance; without them the owner is `system`.
    owners: { type: 'array', items: text, minItems: 1 },
    // The days between which they were created; names follow the dates.
    created: { type: 'array', items: text, minItems: 2, maxItems: 2 },
    // The share that is submitted, and what they have otherwise.
    submit: { type: 'number', minimum: 0, maximum: 1 },
    submitted: { type: 'object' },
    fields: { type: 'object' },
    // Documents written out; `fields` adds what they leave open.
    records: { type: 'array', items: { type: 'object' } },
  },
)

/**
 * The shape of one file. `fields` may hold any plain value, so its makers are checked one by one with
 * `makerSchema`.
 */
export const seedsSchema = objectWith({ seeds: { type: 'array', items: seed } }) satisfies JSONSchema

/** The shape of one maker, which says how a value is made; a plain value stands for itself; the first of its keys that seeds.ts knows decides what it makes. */
export const makerSchema = {
  ...objectWith(
    {},
    {
      // One of these, by chance; these in turn.
      pick: { type: 'array', minItems: 1 },
      cycle: { type: 'array', minItems: 1 },
      // With `{n}` for the number of the document and `{field}` for what is there already.
      text,
      // All combinations of the lists in turn, joined by a blank.
      product: { type: 'array', items: { type: 'array', items: text, minItems: 1 }, minItems: 1 },
      // Between the two, in steps of `step`, by default 1.
      number: pair,
      step: { type: 'number', exclusiveMinimum: 0 },
      // A day from the first to the second, such as 2026-03-31; days from and to after another field.
      date: { type: 'array', items: text, minItems: 2, maxItems: 2 },
      after: text,
      days: pair,
      // The name of some document of a doctype; the value of `field` in the document that the field `from` links to.
      link: text,
      from: text,
      field: text,
      // What was found, times a number between the two.
      factor: pair,
      // So many rows of a table, each made by `fields`.
      rows: pair,
      fields: { type: 'object' },
      // How often there is a value at all.
      chance: { type: 'number', minimum: 0, maximum: 1 },
    },
  ),
  minProperties: 1,
} satisfies JSONSchema

/** Documents of one doctype. */
export type Seed = FromSchema<typeof seed>
/** How one value is made. */
export type SeedMaker = FromSchema<typeof makerSchema>
