/** The schema of `config/doctypes/*.yaml`. */
import type { FromSchema, JSONSchema } from '#leaf/schema.ts'
import { actions, fieldTypes } from './platform.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { references } from '#leaf/references.ts'
import { host } from '#leaf/who-decides.ts'
import { translationsSchema } from './translations.ts'

const text = { type: 'string', minLength: 1 } as const
const flag = { type: 'boolean' } as const
const names = (kind: string) => ({ type: 'array', items: references(kind, text), uniqueItems: true }) as const
const fieldName = references('field', text)

/** The name of a column. */
const column = { type: 'string', minLength: 1, maxLength: 63 } as const
const columns = { type: 'array', items: column, minItems: 1, maxItems: 8, uniqueItems: true } as const
/** A table or view, with its schema where that is not `public`; never a statement. */
const table = { type: 'string', minLength: 1, maxLength: 127 } as const
/** A look-up in another table, by its key. */
const through = objectWith({ column, table }, { key: column })
const standardField = { oneOf: [column, objectWith({ column, through })] } as const

/** Fields that are written. */
const written = { type: 'array', items: text, minItems: 1, uniqueItems: true } as const

/** Where the documents of a doctype lie, if not in the state of the service. */
const from = objectWith(
  { source: references('source', text), table, key: columns },
  {
    standard: objectWith(
      {},
      {
        owner: standardField,
        creation: standardField,
        modified: standardField,
        modified_by: standardField,
        docstatus: standardField,
      },
    ),
    /** By field: `name` is the key; of the standard ones who and when, which are filled in. Nothing unless said. */
    write: objectWith({}, { create: written, change: written, delete: flag }),
    /** A field that tells versions of a row apart: a whole number or a moment, which each change moves on. */
    version: fieldName,
    time_zone: text,
    search: { type: 'array', items: text, uniqueItems: true },
    analysis: objectWith({ most_rows: { type: 'integer', minimum: 1, maximum: 5000000 } }),
  },
)

const field = objectWith(
  {
    // Also a column name in SQL and a variable in expressions, hence so narrow.
    fieldname: { type: 'string', pattern: '^[a-z][a-z0-9_]*$', maxLength: 63 },
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
    doctype: references('doctype', text),
    doctype_field: text,
    content: { type: 'string', enum: ['vega-lite'] },
    length: { type: 'integer', minimum: 1, maximum: 1000000 },
    precision: { type: 'integer', minimum: 0, maximum: 9 },
    level: { type: 'integer', minimum: 0, maximum: 9 },
    visible_to: names('role'),
    computed: text,
    column: host(column),
    through: host(through),
    rows: host(
      objectWith(
        { table, parent: columns, key: columns },
        { order: columns, only: { type: 'object', additionalProperties: text } },
      ),
    ),
  },
)

const rule = objectWith(
  {
    role: references('role', text),
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
 * The schema of one file. read-doctypes.ts and read-fields.ts check the rules that a schema cannot express.
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
        gaps: flag,
        field: fieldName,
      },
    ),
    title_field: fieldName,
    search_fields: names('field'),
    submittable: flag,
    child: flag,
    parent_field: fieldName,
    from: host(from),
    translations: translationsSchema,
    permissions: { type: 'array', items: rule },
    validations: {
      type: 'array',
      items: objectWith({ rule: text, message: text }),
    },
  },
) satisfies JSONSchema

/** A doctype as its file declares it, before names are looked up and defaults filled in. */
export type DoctypeSource = FromSchema<typeof doctypeSchema>
/** One entry of its `fields`. */
export type FieldSource = DoctypeSource['fields'][number]
