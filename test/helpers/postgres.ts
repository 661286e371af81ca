/** A PostgreSQL of its own for a test, in a temporary folder; absent where the machine has none. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'

const folders = [
  '/usr/lib/postgresql/17/bin',
  '/usr/lib/postgresql/16/bin',
  '/usr/lib/postgresql/15/bin',
  '/usr/local/bin',
  '/usr/bin',
]
const bin = folders.find(
  (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
)
const account = accountOf()

/** Why there can be no PostgreSQL; undefined when there can. */
export const noPostgres =
  bin === undefined
    ? 'no PostgreSQL on this machine'
    : account === undefined
      ? 'PostgreSQL does not run as root, and there is no user postgres'
      : undefined

/** A server that runs for a test, and can be taken away from it for a while. */
export interface TestPostgres {
  readonly port: number
  readonly admin: Client
  /** The address of a new, empty database. */
  newDatabase(): Promise<string>
  /** Stops the server at once, as a crash does. */
  stop(): Promise<void>
  start(): Promise<void>
}

/** Starts a server that is stopped, and whose folder is removed, after the test. */
export async function startPostgres(t: Pick<TestContext, 'after'>): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  if (account?.uid !== undefined) chownSync(folder, account.uid, account.gid!)
  const data = join(folder, 'data')
  const initial = ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']
  execFileSync(join(bin!, 'initdb'), initial, { stdio: 'ignore', cwd: folder, ...account })
  const port = await freePort()
  let server: ChildProcess | undefined
  let admin: Client | undefined
  let databases = 0
  const connect = async (): Promise<Client> => {
    for (let attempt = 0; ; attempt++) {
      const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
      try {
        await client.connect()
        // The server may be stopped while this connection is open.
        client.on('error', () => undefined)
        return client
      } catch (error) {
        if (attempt > 100) throw error
        await wait(100)
      }
    }
  }
  const start = async (): Promise<void> => {
    server = spawn(
      join(bin!, 'postgres'),
      ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', folder, '-F'],
      { stdio: 'ignore', cwd: folder, ...account },
    )
    admin = await connect()
  }
  const stop = async (): Promise<void> => {
    if (!server) return
    const ended = new Promise((resolve) => server!.once('exit', resolve))
    server.kill('SIGQUIT')
    await ended
    server = undefined
    await admin?.end().catch(() => undefined)
  }
  t.after(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  return {
    port,
    get admin() {
      return admin!
    },
    newDatabase: async () => {
      const name = `test_${++databases}`
      await admin!.query(`CREATE DATABASE ${name}`)
      return `postgresql://postgres@127.0.0.1:${port}/${name}`
    },
    stop,
    start,
  }
}

function accountOf(): { uid?: number; gid?: number } | undefined {
  if (process.getuid?.() !== 0) return {}
  try {
    const number = (flag: string) =>
      Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }))
    return { uid: number('-u'), gid: number('-g') }
  } catch {
    return undefined
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
