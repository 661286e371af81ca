/** What `config/doctypes/*.yaml` looks like. */
import type { FromSchema, JSONSchema } from '../core/schema.ts'
import { actions, fieldTypes } from './platform.ts'
import { objectWith } from '../core/object-schema.ts'

const text = { type: 'string', minLength: 1 } as const
const flag = { type: 'boolean' } as const
const names = { type: 'array', items: text, uniqueItems: true } as const

const field = objectWith(
  {
    // Also a column name in SQL and a variable in expressions, hence so narrow.
    fieldname: { type: 'string', pattern: '^[a-z][a-z0-9_]{0,62}$' },
    type: { type: 'string', enum: fieldTypes },
  },
  {
    label: text,
    description: text,
    required: flag,
    unique: flag,
    read_only: flag,
    allow_on_submit: flag,
    index: flag,
    default: {},
    options: { type: 'array', items: { type: 'string' }, minItems: 1, uniqueItems: true },
    doctype: text,
    doctype_field: text,
    content: { type: 'string', enum: ['vega-lite'] },
    length: { type: 'integer', minimum: 1, maximum: 1000000 },
    precision: { type: 'integer', minimum: 0, maximum: 9 },
    level: { type: 'integer', minimum: 0, maximum: 9 },
    visible_to: names,
    computed: text,
  },
)

const rule = objectWith(
  {
    role: text,
    actions: { type: 'array', items: { type: 'string', enum: actions }, minItems: 1, uniqueItems: true },
  },
  {
    if_owner: flag,
    when: text,
    levels: {
      type: 'array',
      items: { type: 'integer', minimum: 0, maximum: 9 },
      minItems: 1,
      uniqueItems: true,
    },
  },
)

/**
 * The shape of one file. What a schema cannot say (fields that exist, roles that are known) is checked
 * in read-doctypes.ts and read-fields.ts.
 */
export const doctypeSchema = objectWith(
  {
    doctype: { type: 'string', pattern: '^[A-Z][A-Za-z0-9]*( [A-Z0-9][A-Za-z0-9]*)*$', maxLength: 60 },
    fields: { type: 'array', items: field, minItems: 1 },
  },
  {
    module: text,
    description: text,
    naming: objectWith(
      { rule: { type: 'string', enum: ['series', 'field', 'prompt', 'hash'] } },
      {
        series: { type: 'string', pattern: '^[A-Za-z0-9/_.-]*#{1,10}$', title: 'a series such as INV-#####' },
        field: text,
      },
    ),
    title_field: text,
    search_fields: names,
    submittable: flag,
    child: flag,
    parent_field: text,
    permissions: { type: 'array', items: rule },
    validations: {
      type: 'array',
      items: objectWith({ rule: text, message: text }),
    },
  },
) satisfies JSONSchema

/** A doctype as the file says it, before names are looked up and defaults filled in. */
export type DoctypeSource = FromSchema<typeof doctypeSchema>
/** One entry of its `fields`. */
export type FieldSource = DoctypeSource['fields'][number]
