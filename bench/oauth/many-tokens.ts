/**
 * What many access tokens cost the daemon on the embedded store: processor time of its start and of a request with one of
 * them, memory, a page of `tokens list`. `node --import tsx bench/oauth/many-tokens.ts [COUNT…]`, after `npm run build`.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { systemClock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import { randomId, sha256 } from '#leaf/secrets.ts'
import { type AccessToken, tokenRecords } from '../../src/oauth/records.ts'
import { thisServer } from '../../src/oauth/urls.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import { median, startServerProcess, stopServerProcesses, table, usedBy, asking } from '../server-process.ts'

const root = resolve(import.meta.dirname, '../..')
const program = join(root, 'bin/assistant-core')
const given = process.argv.slice(2).map(Number)
const counts = given.length > 0 ? given : [1, 1000, 1_000_000]
const calls = 2000
const users = ['sales@example.com', 'hr@example.com', 'admin@example.com']
const folder = mkdtempSync(join(tmpdir(), 'assistant-core-tokens-'))

const secretOf = (index: number): string => `ac_at_${sha256(String(index)).slice(0, 43)}`

/** Puts so many tokens into a state that a daemon has made. */
async function fill(state: string, count: number): Promise<void> {
  const log = createLog('error', process.stderr)
  const store = await openEmbeddedStore({ folder: state, clock: systemClock, log })
  const tokens = store.collection<AccessToken>(tokenRecords)
  const now = Date.now()
  for (let from = 0; from < count; from += 10_000)
    await store.transaction(async (tx) => {
      for (let index = from; index < Math.min(count, from + 10_000); index++)
        await tx.in(tokens).insert({
          id: randomId(),
          hash: sha256(secretOf(index)),
          family: randomId(),
          user: users[index % users.length]!,
          client: `client-${index % 500}`,
          clientName: 'Claude',
          scopes: ['all'],
          resource: thisServer,
          status: 'Active',
          issuedAt: now - index,
          expiresAt: now + 86_400_000,
          forgetAt: now + 2 * 86_400_000,
        })
    })
  await store.close()
}

function memoryOf(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

interface Measured {
  readonly count: number
  readonly start: number
  readonly memory: number
  readonly perCall: number
  readonly list: number
}

async function measure(count: number): Promise<Measured> {
  const home = join(folder, String(count))
  for (const part of ['config', 'prompts', 'skills'])
    cpSync(join(root, part), join(home, 'site', part), { recursive: true })
  const env = {
    ASSISTANT_CORE_SITE: join(home, 'site'),
    ASSISTANT_CORE_STATE: join(home, 'state'),
  }
  const options = { env: { ...process.env, ...env } }
  const settings = join(home, 'site/config/settings.yaml')
  const text = readFileSync(settings, 'utf8')
  writeFileSync(settings, text.replace(/(^rate_limits:\n(?:\s*#.*\n)*\s+enabled:) true/m, '$1 false'))
  // The first start makes the state.
  await promisify(execFile)(process.execPath, [program, 'status'], options)
  await fill(env.ASSISTANT_CORE_STATE, count)
  const { port, pid } = await startServerProcess([program, 'serve', '--port', '0'], { env })
  const start = usedBy(pid) / 1e6
  const memory = memoryOf(pid)
  const rounds: number[] = []
  for (let round = 0; round < 5; round++) {
    const before = usedBy(pid)
    for (let call = 0; call < calls; call++)
      await asking(port, secretOf((round * calls + call * 7) % count))('ping')
    rounds.push((usedBy(pid) - before) / calls)
  }
  const before = usedBy(pid)
  for (let time = 0; time < 5; time++)
    await promisify(execFile)(process.execPath, [program, 'tokens', 'list', '--json'], options)
  const list = (usedBy(pid) - before) / 5 / 1000
  await stopServerProcesses()
  return { count, start, memory, perCall: median(rounds), list }
}

try {
  const measured: Measured[] = []
  for (const count of counts) measured.push(await measure(count))
  const [first] = measured
  table(
    [
      'tokens',
      'start, CPU s',
      'memory',
      'bytes a token',
      'a ping, CPU µs',
      'beside the first',
      'a page of `tokens list`, CPU ms',
    ],
    measured.map(({ count, start, memory, perCall, list }) => [
      count.toLocaleString('en'),
      start.toFixed(1),
      `${Math.round(memory / 2 ** 20)} MB`,
      count > 1000 ? Math.round((memory - first!.memory) / count) : '',
      Math.round(perCall),
      `${(perCall / first!.perCall).toFixed(2)} ×`,
      Math.round(list),
    ]),
  )
} finally {
  await stopServerProcesses()
  rmSync(folder, { recursive: true, force: true })
}
