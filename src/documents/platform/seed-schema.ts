/** The schema of `config/seeds/*.yaml`: recipes for documents in a new state. */
import type { FromSchema, JSONSchema } from '#leaf/schema.ts'
import { references } from '#leaf/references.ts'
import { objectWith } from '#leaf/object-schema.ts'

const text = { type: 'string', minLength: 1 } as const
const pair = { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 } as const

const fields = { type: 'object', propertyNames: references('field', {}) } as const

/** The schema of one seed. */
export const seedSchema = objectWith(
  { doctype: references('doctype', text) },
  {
    count: { type: 'integer', minimum: 1, maximum: 10000 },
    // Users, chosen at random; without them the owner is `system`.
    owners: { type: 'array', items: text, minItems: 1 },
    // The days between which they were created; names follow the dates.
    created: { type: 'array', items: text, minItems: 2, maxItems: 2 },
    // The share that is submitted, and the values that the others have.
    submit: { type: 'number', minimum: 0, maximum: 1 },
    submitted: fields,
    fields,
    // Documents written out in full; `fields` adds the values that they leave out.
    records: { type: 'array', items: { type: 'object' } },
  },
)

/**
 * The schema of one file. `fields` may hold any plain value, so its makers are checked one by one with
 * `makerSchema`.
 */
export const seedsSchema = objectWith({ seeds: { type: 'array', items: seedSchema } }) satisfies JSONSchema

/** The schema of a maker, which makes a value; a plain value stands for itself. The first key that seeds.ts knows decides. */
export const makerSchema = {
  ...objectWith(
    {},
    {
      // `pick`: one of these at random; `cycle`: these in turn.
      pick: { type: 'array', minItems: 1 },
      cycle: { type: 'array', minItems: 1 },
      // A text with `{n}` for the number of the document and `{field}` for a value that is there already.
      text,
      // All combinations of the lists in turn, joined by a blank.
      product: { type: 'array', items: { type: 'array', items: text, minItems: 1 }, minItems: 1 },
      // A number between the two, in steps of `step`, by default 1.
      number: pair,
      step: { type: 'number', exclusiveMinimum: 0 },
      // A day from the first to the second, such as 2026-03-31; or days from and to after another field.
      date: { type: 'array', items: text, minItems: 2, maxItems: 2 },
      after: text,
      days: pair,
      // The name of some document of a doctype; or the value of `field` in the document that the field `from` links to.
      link: text,
      from: text,
      field: text,
      // The range of a factor for the value found.
      factor: pair,
      // The number of rows of a table, between the two, each made by `fields`.
      rows: pair,
      fields: { type: 'object' },
      // The probability that there is a value at all.
      chance: { type: 'number', minimum: 0, maximum: 1 },
    },
  ),
  minProperties: 1,
} satisfies JSONSchema

/** The recipe for documents of one doctype. */
export type Seed = FromSchema<typeof seedSchema>
/** The recipe for one value. */
export type SeedMaker = FromSchema<typeof makerSchema>
