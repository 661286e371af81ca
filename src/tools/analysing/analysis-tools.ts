/** The tools that compute outside the daemon's process, as far as this machine can run them. */
import { type Analysis, isAvailable } from '#sandbox/sandbox.ts'
import type { Clock } from '#leaf/clock.ts'
import { aggregate, aggregating } from '../reading/aggregate.ts'
import { analyzeBusinessData } from './analyze-business-data.ts'
import { createDashboard } from './create-dashboard.ts'
import { createDashboardChart } from './create-dashboard-chart.ts'
import { extractFileContent } from '../reading/extract-file-content.ts'
import { listUserDashboards } from './list-user-dashboards.ts'
import { queryAndAnalyze } from './query-and-analyze.ts'
import { runPythonCode } from './run-python-code.ts'
import type { Tool } from '../tool.ts'

/** Returns tools of every installation, with what they can do besides where there is something to draw with. */
export function withDrawing(tools: readonly Tool[], { charts }: Pick<Analysis, 'charts'>): readonly Tool[] {
  if (!isAvailable(charts)) return tools
  return tools.map((tool) => (tool === aggregate ? aggregating(charts) : tool))
}

/** Returns the tools; one that is missing here is not listed and cannot be called; `analysis.probes` says why. */
export function analysisTools(analysis: Analysis, clock: Clock): readonly Tool[] {
  const { sql, python, files, charts } = analysis
  return [
    analyzeBusinessData,
    ...(isAvailable(sql) ? queryAndAnalyze(sql, isAvailable(charts) ? charts : undefined) : []),
    ...(isAvailable(python) ? [runPythonCode(python)] : []),
    ...(isAvailable(files) ? [extractFileContent(files)] : []),
    ...(isAvailable(charts)
      ? [createDashboardChart(charts, clock), createDashboard, listUserDashboards(charts, clock)]
      : []),
  ]
}
