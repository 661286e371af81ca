/**
 * The real daemon, of `dist`, whose turns of the event loop are measured from within, in their processor time, which a busy machine does not
 * change, while a thread asks it for `/healthz` and another user's call.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { paths } from '../src/oauth/urls.ts'
import { copyOfShippedSite, type RunningDaemon, startDaemon } from '../test/helpers/daemon.ts'
import { tokenOf } from '../test/helpers/tool-calls.ts'

/** What a daemon was measured at, as a row of a table under `heads`; times in milliseconds. */
export interface Measured {
  readonly cells: readonly string[]
  readonly health: number
  readonly other: number
}

export const heads = ['answer after', 'longest turn', '`/healthz`', 'another user', 'memory']

type Owner = Parameters<typeof startDaemon>[0]

/** A copy of the shipped site without limits of what one user may ask for, and with other changes of its settings. */
export function siteWithoutLimits(t: Owner, changes: readonly (readonly [string, string])[] = []): string {
  const site = copyOfShippedSite(t)
  const settings = join(site, 'config/settings.yaml')
  let text = readFileSync(settings, 'utf8')
  for (const [from, to] of [
    [/(^rate_limits:\n(?:\s*#.*\n)*\s+enabled:) true/m, '$1 false'] as const,
    ...changes,
  ]) {
    const changed = text.replace(from, to)
    if (changed === text) throw new Error(`the settings have no ${String(from)}`)
    text = changed
  }
  writeFileSync(settings, text)
  return site
}

/** Makes the state of a site, and tokens for those who ask and for the other user; the daemon has stopped again. */
export async function prepared(
  t: Owner,
  site: string,
): Promise<{ state: string; asking: string; other: string }> {
  const state = join(site, '../state')
  const daemon = await startDaemon(t, { site, state })
  const [asking, other] = [
    await tokenOf(daemon, 'admin@example.com'),
    await tokenOf(daemon, 'hr@example.com'),
  ]
  await daemon.stop()
  return { state, asking, other }
}

/** A daemon that is watched from its start on. */
export class WatchedDaemon {
  readonly daemon: RunningDaemon
  readonly #turns: string
  readonly #longest: Float64Array
  readonly #answered: Int32Array
  readonly #told = new Set<string>()

  private constructor(daemon: RunningDaemon, turns: string, longest: Float64Array, answered: Int32Array) {
    this.daemon = daemon
    this.#turns = turns
    this.#longest = longest
    this.#answered = answered
  }

  static async start(
    t: Owner,
    site: string,
    { state, other }: { state: string; other: string },
  ): Promise<WatchedDaemon> {
    const turns = join(site, '../turns')
    const watching = `--import ${join(import.meta.dirname, 'watch-turns.mjs')}`
    const daemon = await startDaemon(t, { site, state, env: { NODE_OPTIONS: watching, TURNS: turns } })
    const longest = new Float64Array(new SharedArrayBuffer(16))
    const answered = new Int32Array(new SharedArrayBuffer(8))
    const workerData = { url: daemon.url, path: paths.mcp, token: other, longest, answered }
    const probes = new Worker(join(import.meta.dirname, 'probes.mjs'), { workerData })
    t.after(() => probes.terminate())
    writeFileSync(turns, '')
    return new WatchedDaemon(daemon, turns, longest, answered)
  }

  /** Does something, and tells what it cost: since what was measured before, so that nothing between two is lost. */
  async measure(work: () => Promise<unknown>): Promise<Measured> {
    const began = performance.now()
    await work()
    const took = performance.now() - began
    // Whoever waits now has waited meanwhile.
    const before = [...this.#answered]
    while (this.#answered.some((count, n) => count === before[n])) {
      if (this.daemon.process.exitCode !== null)
        throw new Error(`the daemon ended: ${this.daemon.output().stderr}`)
      await wait(5)
    }
    const [health, other] = this.#longest as unknown as [number, number]
    this.#longest.fill(0)
    const turn = Math.max(...readFileSync(this.#turns, 'utf8').split('\n').map(Number))
    writeFileSync(this.#turns, '')
    const cells = [
      `${(took / 1000).toFixed(1)} s`,
      turn > 0 ? `${turn} ms` : 'below 10 ms',
      `${health.toFixed(0)} ms`,
      `${other.toFixed(0)} ms`,
      this.memory('RSS'),
    ]
    return { cells, health, other }
  }

  memory(of: 'RSS' | 'HWM'): string {
    const status = readFileSync(`/proc/${this.daemon.process.pid}/status`, 'utf8')
    return `${(Number(new RegExp(`Vm${of}:\\s+(\\d+)`).exec(status)![1]) / 1024).toFixed(0)} MB`
  }

  /** Calls a tool. A fault is told and does not end the bench: a refusal is measured too. */
  async call(token: string, name: string, args: object, signal?: AbortSignal): Promise<string> {
    const response = await fetch(this.daemon.url + paths.mcp, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args },
      }),
      ...(signal && { signal }),
    })
    const answer = await response.text()
    const fault = answer.slice(0, 300)
    if (
      !answer.includes('"isError":false') &&
      !answer.includes('"structuredContent"') &&
      !this.#told.has(fault)
    ) {
      this.#told.add(fault)
      process.stderr.write(`${name}: ${fault}\n`)
    }
    return answer
  }
}
