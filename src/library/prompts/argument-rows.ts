import type { FromSchema, JSONSchema } from '#leaf/schema.ts'
import { readDefault } from './argument-types.ts'
import { argumentTypes, type PromptArgument } from '../words.ts'
import { references } from '#leaf/references.ts'
import { objectWith } from '#leaf/object-schema.ts'

const flag = { enum: [0, 1, false, true] } as const

/** One row of `arguments:`, in the names of specification §2.7 and four more types. */
export const argumentSchema = objectWith(
  { argument_name: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 64 } },
  {
    display_label: { type: 'string', maxLength: 200 },
    argument_type: { type: 'string', enum: argumentTypes },
    is_required: flag,
    default_value: {},
    description: { type: 'string', maxLength: 1000 },
    allowed_values: {
      oneOf: [
        { type: 'string' },
        { type: 'array', items: { type: ['string', 'number', 'boolean'] }, maxItems: 500 },
        { type: 'null' },
      ],
    },
    validation_regex: { type: ['string', 'null'], maxLength: 1000 },
    min_length: { type: ['integer', 'null'], minimum: 0 },
    max_length: { type: ['integer', 'null'], minimum: 0 },
    doctype: references('doctype', { type: 'string' }),
  },
) satisfies JSONSchema

type ArgumentRow = FromSchema<typeof argumentSchema>

/** Reserved words of a template language. */
const keptWords = new Set(
  'true false none True False None and or not in is if else elif for loop self super caller varargs kwargs range dict lipsum cycler joiner namespace'.split(
    ' ',
  ),
)

/** Reads the arguments that checked rows declare; faults of names are reported with the path of the row. */
export function readArguments(
  rows: readonly ArgumentRow[],
  fault: (path: readonly (string | number)[], message: string) => void,
): PromptArgument[] {
  const seen = new Set<string>()
  return rows.map((row, index) => {
    const name = row.argument_name
    if (seen.has(name)) fault([index, 'argument_name'], `"${name}" is declared twice`)
    seen.add(name)
    if (keptWords.has(name) || name.startsWith('__')) {
      fault([index, 'argument_name'], `"${name}" is a word of the template language; choose another name`)
    }
    const type = row.argument_type ?? 'string'
    const allowedValues = wordsOf(row.allowed_values ?? [])
    return Object.freeze({
      name,
      label: row.display_label ?? name,
      type,
      required: Boolean(row.is_required),
      default: readDefault(type, row.default_value, allowedValues),
      description: row.description ?? '',
      allowedValues,
      ...(row.doctype !== undefined && { doctype: row.doctype }),
      ...(row.validation_regex && { pattern: row.validation_regex }),
      ...(typeof row.min_length === 'number' && { minLength: row.min_length }),
      // A form that was never filled in sends 0, which sets no bound.
      ...(typeof row.max_length === 'number' && row.max_length > 0 && { maxLength: row.max_length }),
    })
  })
}

/** Splits a text at commas and line ends, or takes a list; blank words and repetitions are dropped. */
export function wordsOf(value: string | readonly (string | number | boolean)[]): string[] {
  const words = typeof value === 'string' ? value.split(/[,\n]/) : value.map(String)
  return [...new Set(words.map((word) => word.trim()).filter((word) => word !== ''))]
}
