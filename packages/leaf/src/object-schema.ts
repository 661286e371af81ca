type Schemas = Readonly<Record<string, unknown>>

/** Makes the schema of an object that has all required keys, may have the optional ones, and has no others. */
export function objectWith<const Required extends Schemas, const Optional extends Schemas = {}>(
  required: Required,
  optional?: Optional,
): {
  readonly type: 'object'
  readonly additionalProperties: false
  readonly required: readonly (keyof Required & string)[]
  readonly properties: Required & Optional
} {
  return {
    type: 'object',
    additionalProperties: false,
    required: Object.keys(required),
    properties: { ...required, ...optional } as Required & Optional,
  }
}
