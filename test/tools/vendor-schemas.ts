/** What the models of all vendors take as the schema of a tool; written apart from the code that makes it so. */

type Json = Readonly<Record<string, any>>

/** Claude, Gemini, OpenAI and VS Code, the strictest of each. */
const takes: Readonly<Record<string, readonly string[]>> = {
  string: ['enum', 'minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
  array: ['items', 'minItems', 'maxItems'],
  object: ['properties', 'required', 'additionalProperties'],
}
const everywhere = ['type', 'title', 'description', 'default', 'x-mcp-header']

/** Tells everything about a listed tool that some vendor refuses. */
export function vendorFaults(tool: { name: string; description: string; inputSchema: Json }): string[] {
  const faults: string[] = []
  let properties = 0
  const look = (schema: Json, path: string, depth: number): void => {
    if (typeof schema['type'] !== 'string') return void faults.push(`${path}: no single type`)
    const known = takes[schema['type']]
    if (!known) return void faults.push(`${path}: type ${schema['type']}`)
    for (const key of Object.keys(schema))
      if (![...known, ...everywhere].includes(key)) faults.push(`${path}: ${key}`)
    if (depth > 10) faults.push(`${path}: nested deeper than 10`)
    if (schema['type'] === 'array' && !schema['items']) faults.push(`${path}: no items`)
    if (schema['items']) look(schema['items'], `${path}[]`, depth + 1)
    for (const value of schema['enum'] ?? [])
      if (typeof value !== 'string') faults.push(`${path}: enum of no texts`)
    if (schema['enum']?.length === 0 || schema['enum']?.length > 500) faults.push(`${path}: size of enum`)
    if ('additionalProperties' in schema && typeof schema['additionalProperties'] !== 'boolean')
      faults.push(`${path}: additionalProperties`)
    if (schema['format'] !== undefined && schema['format'] !== 'date-time') faults.push(`${path}: format`)
    for (const name of schema['required'] ?? [])
      if (!(name in (schema['properties'] ?? {})))
        faults.push(`${path}: requires ${name}, which is no property`)
    for (const [name, property] of Object.entries<Json>(schema['properties'] ?? {})) {
      properties++
      if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) faults.push(`${path}.${name}: name`)
      look(property, `${path}.${name}`, depth + 1)
    }
  }
  if (!/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/.test(tool.name)) faults.push(`name ${tool.name}`)
  if (tool.description.length > 1024 || tool.description === '') faults.push('length of description')
  if (tool.inputSchema['type'] !== 'object' || !tool.inputSchema['properties'])
    faults.push('no object with properties')
  look(tool.inputSchema, tool.name, 1)
  if (properties > 100) faults.push('more than 100 properties')
  return faults
}
