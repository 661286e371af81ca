/** The tools that compute outside the daemon's process: those that this machine can offer. */
import { type Analysis, isAvailable } from '../analysis/analysis.ts'
import type { Clock } from '../core/clock.ts'
import { analyzeBusinessData } from './analyze-business-data.ts'
import { createDashboard } from './create-dashboard.ts'
import { createDashboardChart } from './create-dashboard-chart.ts'
import { extractFileContent } from './extract-file-content.ts'
import { listUserDashboards } from './list-user-dashboards.ts'
import { queryAndAnalyze } from './query-and-analyze.ts'
import { runPythonCode } from './run-python-code.ts'
import type { Tool } from './tool.ts'

/** What is not here is not listed and cannot be called; `analysis.probes` says why. */
export function analysisTools(analysis: Analysis, clock: Clock): readonly Tool[] {
  const { sql, python, files, charts } = analysis
  return [
    analyzeBusinessData,
    ...(isAvailable(sql) ? queryAndAnalyze(sql) : []),
    ...(isAvailable(python) ? [runPythonCode(python)] : []),
    ...(isAvailable(files) ? [extractFileContent(files)] : []),
    ...(isAvailable(charts)
      ? [createDashboardChart(charts, clock), createDashboard, listUserDashboards(charts, clock)]
      : []),
  ]
}
