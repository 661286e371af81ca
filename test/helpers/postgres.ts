/** A PostgreSQL of its own for a test, in a temporary folder; absent where the machine has none. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { atEnd, temporaryFolder } from './daemon.ts'
import { freePort } from './free-port.ts'

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

/** Starts a server that is stopped, and whose folder is removed, after the test; unless it is `durable`, it waits for no disk. What it has to write first, its WAL, lies in that folder even where its data lie on another `disk`. */
export async function startPostgres(
  t: Pick<TestContext, 'after'>,
  { durable = false, disk }: { readonly durable?: boolean; readonly disk?: string } = {},
): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  if (account?.uid !== undefined) chownSync(folder, account.uid, account.gid!)
  if (disk !== undefined && account?.uid !== undefined) chownSync(disk, account.uid, account.gid!)
  const data = join(disk ?? folder, 'data')
  const initial = [
    '-D',
    data,
    '-X',
    join(folder, 'wal'),
    '-U',
    'postgres',
    '--auth=trust',
    '--no-sync',
    '--encoding=UTF8',
    '--locale=C',
  ]
  execFileSync(join(bin!, 'initdb'), initial, { stdio: 'ignore', cwd: folder, ...account })
  const port = await freePort()
  let server: ChildProcess | undefined
  let admin: Client | undefined
  let databases = 0
  const start = async (): Promise<void> => {
    const settings = ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', folder]
    server = spawn(join(bin!, 'postgres'), [...settings, ...(durable ? [] : ['-F'])], {
      stdio: 'ignore',
      cwd: folder,
      ...account,
    })
    admin = await connectTo(port)
  }
  const stop = async (): Promise<void> => {
    if (!server) return
    const ended = new Promise((resolve) => server!.once('exit', resolve))
    server.kill('SIGQUIT')
    await ended
    server = undefined
    await admin?.end().catch(() => undefined)
  }
  atEnd(t, async () => {
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

/** The server of a suite, which is started before its tests and stopped after them. */
export function suitePostgres(): TestPostgres {
  const closers: (() => unknown)[] = []
  const server = {} as TestPostgres
  before(async () => {
    const started = await startPostgres({ after: (close) => void closers.push(close as () => unknown) })
    Object.defineProperties(server, Object.getOwnPropertyDescriptors(started))
  })
  after(async () => {
    for (const close of closers) await close()
  })
  return server
}

/** The lines of the shipped settings that keep the state in a database, each behind the one that it replaces. */
export function inDatabase(t: Pick<TestContext, 'after'>, url: string): readonly [string, string][] {
  const secrets = temporaryFolder(t as TestContext)
  writeFileSync(join(secrets, 'database-url'), `${url}\n`, { mode: 0o600 })
  return [
    ['secrets_folder: null\n', `secrets_folder: ${secrets}\n`],
    ['  kind: embedded\n', '  kind: postgres\n'],
    ['  url_file: null\n', '  url_file: database-url\n'],
  ]
}

/** The file with the address of the database that settings written so name. */
export function addressFile(site: string): string {
  const settings = readFileSync(join(site, 'config/settings.yaml'), 'utf8')
  return join(/^secrets_folder: (.*)$/m.exec(settings)![1]!, 'database-url')
}

/** A standby of a server, and what becomes of it. */
export interface TestStandby {
  readonly port: number
  readonly admin: Client
  /** Makes it the one that is written to, with a server's own data from then on. */
  promote(): Promise<void>
  /** Follows no more: what the primary keeps from now on it will lack. */
  cutOff(): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
}

/** Starts a standby of a server. */
export async function startStandby(
  t: Pick<TestContext, 'after'>,
  primary: TestPostgres,
): Promise<TestStandby> {
  const folder = mkdtempSync(join(tmpdir(), 'standby-'))
  if (account?.uid !== undefined) chownSync(folder, account.uid, account.gid!)
  const data = join(folder, 'data')
  const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres']
  const how = { stdio: 'ignore', cwd: folder, ...account } as const
  execFileSync(join(bin!, 'pg_basebackup'), [...from, '-D', data, '-R', '-X', 'stream', '-c', 'fast'], how)
  const port = await freePort()
  const settings = ['-c', 'listen_addresses=127.0.0.1', '-k', folder, '-F']
  let server: ChildProcess
  let admin: Client
  const start = async (): Promise<void> => {
    server = spawn(join(bin!, 'postgres'), ['-D', data, '-p', String(port), ...settings], how)
    admin = await connectTo(port)
  }
  const stop = async (): Promise<void> => {
    if (server.exitCode !== null) return
    const ended = new Promise((resolve) => server.once('exit', resolve))
    server.kill('SIGQUIT')
    await ended
    await admin.end().catch(() => undefined)
  }
  await start()
  atEnd(t, async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    port,
    get admin() {
      return admin
    },
    promote: async () => void (await admin.query('SELECT pg_promote()')),
    cutOff: async () => {
      await admin.query("ALTER SYSTEM SET primary_conninfo = ''")
      await admin.query('SELECT pg_reload_conf()')
      for (;;) {
        const { rows } = await admin.query('SELECT pid FROM pg_stat_wal_receiver')
        if (rows.length === 0) return
        await wait(50)
      }
    },
    stop,
    start,
  }
}

/** Waits until the standbys of a server have all that it has. */
export async function caughtUp(primary: TestPostgres): Promise<void> {
  for (;;) {
    const { rows } = await primary.admin.query(
      'SELECT bool_and(replay_lsn >= pg_current_wal_lsn()) AS caught_up FROM pg_stat_replication',
    )
    if (rows[0].caught_up === true) return
    await wait(50)
  }
}

/** PgBouncer as Debian has it, which is not everywhere. */
const pgBouncer = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path))

/** Why there can be no pooler; undefined when there can. */
export const noPgBouncer =
  noPostgres ?? (pgBouncer === undefined ? 'no pgbouncer on this machine' : undefined)

/** A pooler in front of a server that gives each transaction whatever session is free; answers its port. */
export async function startPgBouncer(
  t: Pick<TestContext, 'after'>,
  server: TestPostgres,
  more = '',
  user = 'postgres',
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'))
  const port = await freePort()
  const config = join(folder, 'pgbouncer.ini')
  writeFileSync(
    config,
    `[databases]\n* = host=127.0.0.1 port=${server.port} user=${user}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 6\n${more}\n`,
  )
  if (account?.uid !== undefined)
    for (const path of [folder, config]) chownSync(path, account.uid, account.gid!)
  const pooler = spawn(pgBouncer!, ['-q', config], { stdio: 'ignore', cwd: folder, ...account })
  atEnd(t, async () => {
    const ended = new Promise((resolve) => pooler.once('exit', resolve))
    pooler.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  await (await connectTo(port)).end()
  return port
}

async function connectTo(port: number): Promise<Client> {
  for (let attempt = 0; ; attempt++) {
    const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
    // The server may be stopped while this connection is open.
    client.on('error', () => undefined)
    try {
      await client.connect()
      return client
    } catch (error) {
      if (attempt > 100) throw error
      await wait(100)
    }
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
