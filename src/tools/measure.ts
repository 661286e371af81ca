import type { OfferedTool } from './catalogue.ts'

/** About how many tokens of a model's context the list of tools takes: four characters of JSON each. */
export function listTokens(offered: readonly OfferedTool[]): number {
  const listed = offered.map(({ tool, annotations }) => ({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.input,
    ...(tool.output && { outputSchema: tool.output }),
    annotations,
  }))
  return Math.ceil(JSON.stringify({ tools: listed }).length / 4)
}
