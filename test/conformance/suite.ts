/** Runs the official conformance suite and counts its checks. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'

const folder = dirname(fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json')))
const program = join(folder, 'dist/index.js')
const shim = pathToFileURL(join(import.meta.dirname, 'node20/register.mjs')).href

/** What one run found: one line for each check that is not a success. */
export interface SuiteRun {
  readonly counts: Readonly<Record<string, number>>
  readonly scenarios: number
  readonly failures: readonly string[]
  readonly warnings: readonly string[]
  readonly output: string
  readonly exitCode: number | null
}

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

/** Runs `conformance server` with these arguments against a URL. */
export async function runSuite(url: string, args: readonly string[]): Promise<SuiteRun> {
  const results = mkdtempSync(join(tmpdir(), 'conformance-'))
  try {
    const { output, exitCode } = await run(['server', '--url', url, '-o', results, ...args])
    const counts: Record<string, number> = {}
    const failures: string[] = []
    const warnings: string[] = []
    const scenarios = readdirSync(results)
    for (const scenario of scenarios) {
      const checks = JSON.parse(readFileSync(join(results, scenario, 'checks.json'), 'utf8')) as Check[]
      const name = scenario.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
      for (const { id, status, errorMessage } of checks) {
        counts[status] = (counts[status] ?? 0) + 1
        const line = `${name} [${id}] ${errorMessage ?? ''}`
        if (status === 'FAILURE') failures.push(line)
        if (status === 'WARNING') warnings.push(line)
      }
    }
    return { counts, scenarios: scenarios.length, failures, warnings, output, exitCode }
  } finally {
    rmSync(results, { recursive: true, force: true })
  }
}

function run(args: readonly string[]): Promise<{ output: string; exitCode: number | null }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', shim, program, ...args], {
      env: { ...process.env, NO_COLOR: '1' },
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.on('error', reject)
    child.on('close', (exitCode) => resolve({ output, exitCode }))
  })
}
