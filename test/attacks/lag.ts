/** What the tests of attacks share: tokens, and how long the daemon's own thread was busy with one thing. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { operate } from '../../src/cli/control.ts'

/** An access token for a user of the shipped site. */
export async function tokenOf(daemon: RunningDaemon, user: string): Promise<string> {
  const issued = await daemon.cli(['tokens', 'issue', '--user', user, '--json'])
  assert.equal(issued.code, 0, issued.stderr)
  return (JSON.parse(issued.stdout) as { access_token: string }).access_token
}

/** However crowded the machine is, this much slowness excuses nothing more. */
const most = 12

/** How late the daemon's thread was, in milliseconds. */
export interface Lag {
  readonly p99: number
  readonly max: number
  /** How often as long as it would have the thread took, because the machine ran something else while it was ready. */
  readonly slowness: number
}

/** A daemon that tells how late its thread was since it was last asked, as its own monitor saw it. */
export async function watchedDaemon(
  t: TestContext,
  settings: Readonly<Record<string, string>>,
): Promise<{ daemon: RunningDaemon; lag: () => Promise<Lag> }> {
  const site = copyOfShippedSite(t)
  const file = join(site, 'config/settings.yaml')
  let text = readFileSync(file, 'utf8')
  for (const [from, to] of Object.entries(settings)) {
    assert.ok(text.includes(from), from)
    text = text.replace(from, to)
  }
  writeFileSync(file, text)
  const daemon = await startDaemon(t, { site })
  let turns = turnsOf(daemon)
  const lag = async (): Promise<Lag> => {
    const { text: told } = await operate({ site, state: daemon.state, json: true }, 'metrics', {})
    const read = (name: string): number => {
      const [, seconds] = new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(told) ?? []
      assert.ok(seconds !== undefined, name)
      return Number(seconds) * 1000
    }
    const before = turns
    turns = turnsOf(daemon)
    const [ran, waited] = [turns.ran - before.ran, turns.waited - before.waited]
    return { p99: read('p99'), max: read('max'), slowness: Math.min(most, 1 + waited / Math.max(ran, 1)) }
  }
  return { daemon, lag }
}

/** What the machine says of the daemon's own thread: for how long it ran, and was ready but did not. */
function turnsOf({ process: { pid } }: RunningDaemon): { ran: number; waited: number } {
  const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')
    .split(' ')
    .map(Number)
  return { ran: ran / 1e6, waited: waited / 1e6 }
}
