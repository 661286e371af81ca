/** The service in the test's own process, over folders of the test's own: seconds less than a real daemon. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Clock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import { startDaemon, type Daemon } from '../../src/daemon.ts'
import type { Options } from '../../src/cli/options.ts'
import { atEnd, copyOfShippedSite, temporaryFolder } from '../helpers/daemon.ts'
import { requireNoSecrets } from '../helpers/leaks.ts'

export interface Folders {
  readonly site: string
  readonly state: string
  readonly options: Options
  /** Whether the service computes in other processes, to start which is most of the work of its start. */
  readonly analysis?: boolean
}

/** For tests that count what is computed: Python is not on every machine. */
export const noPython: [string, string] = ['  python:\n    enabled: true', '  python:\n    enabled: false']

/** A site and a state; `settings` replaces texts of the shipped settings, which must be there. */
export function folders(
  t: Pick<TestContext, 'after'>,
  settings: readonly (readonly [string, string])[] = [],
): Folders {
  const site = copyOfShippedSite(t as TestContext)
  const state = join(temporaryFolder(t as TestContext), 'state')
  const path = join(site, 'config/settings.yaml')
  const text = settings.reduce(
    (before, [from, to]) => {
      if (!before.includes(from)) throw new Error(`the shipped settings lack ${from}`)
      return before.replace(from, to)
    },
    readFileSync(path, 'utf8'),
  )
  writeFileSync(path, text)
  return { site, state, options: { site, state, json: true } }
}

export interface RunningService extends Folders {
  readonly daemon: Daemon
  readonly url: string
  /** Every line of the daemon's log so far. */
  readonly lines: readonly Record<string, unknown>[]
}

export async function runService(
  t: Pick<TestContext, 'after'>,
  where: Folders = folders(t),
  publicUrl?: string,
  clock?: Clock,
): Promise<RunningService> {
  const lines: Record<string, unknown>[] = []
  const log = createLog('debug', {
    write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  })
  const daemon = await startDaemon({
    site: where.site,
    state: where.state,
    port: 0,
    log,
    logLevel: 'debug',
    analysis: where.analysis ?? false,
    ...(publicUrl !== undefined && { publicUrl }),
    ...(clock && { clock }),
  })
  let running = true
  const stop = async (): Promise<void> => {
    if (running) await daemon.stop()
    running = false
    requireNoSecrets(where.state, JSON.stringify(lines))
  }
  atEnd(t, stop)
  return { ...where, daemon: { ...daemon, stop }, url: `http://localhost:${daemon.address.port}`, lines }
}

export const mcpPath = '/api/method/assistant_core.api.mcp_endpoint.handle_mcp'
