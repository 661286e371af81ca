/**
 * What each test file took of the processor, with the programs that it started: loaded before a file, this module writes it
 * down when the file ends. Linux only, as `/proc` is.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { isMainThread } from 'node:worker_threads'

const variable = 'TEST_TIMES'

/** Seconds of this process, and of the children that it has waited for: proc(5), utime to cstime. */
function seconds() {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map((ticks) => Number(ticks) / 100)
  return { own: utime + stime, children: cutime + cstime }
}

/** @param {string | undefined} name */
function row(name) {
  const { own, children } = seconds()
  return `${[own + children, own, children, performance.now() / 1000].map((time) => time.toFixed(2)).join('\t')}\t${name}`
}

/** Has the files of this run write down their times; tells them when it ends, and its own. */
export function recordTimes() {
  const folder = mkdtempSync(join(tmpdir(), 'times-'))
  const file = join(folder, 'times')
  process.env[variable] = file
  process.execArgv = [...process.execArgv, '--import', import.meta.filename]
  process.on('exit', () => {
    const rows = readFileSync(file, 'utf8').trimEnd().split('\n')
    rmSync(folder, { recursive: true })
    rows.sort((a, b) => Number.parseFloat(b) - Number.parseFloat(a))
    console.error(['CPU s\town\tchildren\twall', ...rows, row('all')].join('\n'))
  })
}

const written = process.env[variable]
if (written !== undefined && isMainThread && /\.test\.[jt]s$/.test(process.argv[1] ?? ''))
  process.on('exit', () => appendFileSync(written, `${row(process.argv[1])}\n`))
