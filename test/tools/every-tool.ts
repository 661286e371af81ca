import { systemClock } from '#leaf/clock.ts'
import type { Analysis } from '#sandbox/sandbox.ts'
import { analysisTools, withDrawing } from '../../src/tools/analysing/analysis-tools.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { searchAuditTool } from '../../src/tools/reading/search-audit.ts'
import type { Tool } from '../../src/tools/tool.ts'

/** Every tool that a machine could offer; they are listed here and not called. */
export function everyTool(): Tool[] {
  const part = {
    versions: { python: '3.11', numpy: '2.0', pandas: '2.2' },
    readsImages: true,
    seconds: { usual: 30, most: 300 },
  }
  const analysis = { sql: part, python: part, files: part, charts: part } as unknown as Analysis
  const audit = searchAuditTool({} as Parameters<typeof searchAuditTool>[0], systemClock)
  return [...withDrawing(builtInTools, analysis), ...analysisTools(analysis, systemClock), audit]
}
