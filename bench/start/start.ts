/**
 * What starting costs, in processor seconds, least of five: commands, the first answer of `serve` over a state that is there,
 * and what it keeps in memory when nobody asks. `node --import tsx bench/start/start.ts`, after `npm run build`. A bare
 * `node -e 0` stands beside it, because a busy machine makes all of it dearer.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { table } from '../server-process.ts'

const launcher = resolve(import.meta.dirname, '../../bin/assistant-core')
const folder = mkdtempSync(join(tmpdir(), 'assistant-core-start-'))
const site = join(folder, 'site')
const where = ['--site', site, '--state', join(folder, 'state')]
// The kernel counts processor time in hundredths on every platform that Node runs on.
const ticksPerSecond = 100

/** Processor seconds of a program until it ends. */
async function untilEnd(words: readonly string[]): Promise<number> {
  const timed = spawn('bash', ['-c', 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1', '-', ...words])
  let said = ''
  timed.stderr.on('data', (text: Buffer) => (said += text.toString()))
  const code = await new Promise((done) => timed.on('close', done))
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${String(code)}`)
  return said
    .trim()
    .split(' ')
    .reduce((sum, part) => sum + Number(part), 0)
}

async function least(rounds: number, measure: () => Promise<number>): Promise<number> {
  let smallest = Infinity
  for (let round = 0; round < rounds; round++) smallest = Math.min(smallest, await measure())
  return smallest
}

interface Serving {
  readonly seconds: number
  readonly pid: number
  stop(): Promise<void>
}

/** Starts the daemon; answers when its first answer has come. */
async function serving(): Promise<Serving> {
  // As the unit file starts it.
  const env = { ...process.env, MALLOC_ARENA_MAX: '2' }
  const child = spawn(launcher, ['serve', '--port', '0', ...where], { env })
  const ended = new Promise<void>((done) => child.on('close', () => done()))
  const port = await new Promise<string>((found, failed) => {
    child.stdout.on('data', (text: Buffer) => {
      const [, number] = /"port":(\d+)/.exec(text.toString()) ?? []
      if (number !== undefined) found(number)
    })
    child.on('close', (code) => failed(new Error(`serve ended with ${String(code)}`)))
  })
  await fetch(`http://localhost:${port}/healthz`)
  const times = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return {
    seconds: (Number(times[11]) + Number(times[12])) / ticksPerSecond,
    pid: child.pid!,
    stop: async () => {
      child.kill()
      await ended
    },
  }
}

const rows: [string, string][] = []
const told = (what: string, seconds: number): number => rows.push([what, `${seconds.toFixed(2)} s`])
try {
  told('node -e 0', await least(5, () => untilEnd([process.execPath, '-e', '0'])))
  await untilEnd([launcher, 'init', site])
  for (const words of [['--version'], ['--help'], ['check']])
    told(words.join(' '), await least(5, () => untilEnd([launcher, ...words, ...where])))
  // The first of all makes the state.
  await (await serving()).stop()
  for (const words of [['status'], ['tokens', 'list']])
    told(`${words.join(' ')}, no daemon`, await least(5, () => untilEnd([launcher, ...words, ...where])))
  told(
    'serve, first answer',
    await least(5, async () => {
      const daemon = await serving()
      await daemon.stop()
      return daemon.seconds
    }),
  )
  const daemon = await serving()
  for (const words of [['status'], ['tokens', 'list']])
    told(`${words.join(' ')}, of a daemon`, await least(5, () => untilEnd([launcher, ...words, ...where])))
  await setTimeout(20_000)
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8')) ?? []
  rows.push(['idle memory', `${Math.round(Number(kilobytes) / 1024)} MB`])
  await daemon.stop()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
table(['', 'processor time'], rows)
