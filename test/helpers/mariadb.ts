/** A MariaDB of its own for a test, in a temporary folder; absent where the machine has none. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Connection, createConnection } from 'mysql2/promise'
import { freePort } from './free-port.ts'

const server = ['/usr/sbin/mariadbd', '/usr/bin/mariadbd', '/usr/local/bin/mariadbd'].find(existsSync)
const installer = ['/usr/bin/mariadb-install-db', '/usr/local/bin/mariadb-install-db'].find(existsSync)

/** Why there can be no MariaDB; undefined when there can. */
export const noMariadb =
  server === undefined || installer === undefined ? 'no MariaDB on this machine' : undefined

/** A server that runs for a test, and can be taken away from it for a while. */
export interface TestMariadb {
  readonly port: number
  readonly admin: Connection
  /** Connects as its owner once more. */
  connect(): Promise<Connection>
  /** The name of a new, empty database, which the login `reader` may read. */
  newDatabase(options?: string): Promise<string>
  /** Stops the server at once, as a crash does. */
  stop(): Promise<void>
  start(): Promise<void>
}

/** Starts a server that is stopped, and whose folder is removed, after the test; it waits for no disk. */
export async function startMariadb(t: Pick<TestContext, 'after'>): Promise<TestMariadb> {
  const folder = mkdtempSync(join(tmpdir(), 'mariadb-'))
  const data = join(folder, 'data')
  const user = process.getuid?.() === 0 ? ['--user=root'] : []
  // A server that starts removes the temporary tables of all in their folder, at which one of them that runs crashes.
  const how = { stdio: 'ignore', env: { ...process.env, TMPDIR: folder } } as const
  execFileSync(
    installer!,
    [
      '--no-defaults',
      `--datadir=${data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      ...user,
    ],
    how,
  )
  const port = await freePort()
  let running: ChildProcess | undefined
  let admin: Connection | undefined
  let databases = 0
  const start = async (): Promise<void> => {
    running = spawn(
      server!,
      [
        '--no-defaults',
        ...user,
        `--datadir=${data}`,
        `--socket=${join(folder, 'socket')}`,
        `--port=${port}`,
        '--bind-address=127.0.0.1',
        '--innodb-flush-log-at-trx-commit=0',
        '--innodb-buffer-pool-size=32M',
        '--skip-log-bin',
      ],
      how,
    )
    admin = await connected(join(folder, 'socket'), running)
  }
  const stop = async (): Promise<void> => {
    if (!running) return
    const ended = new Promise((resolve) => running!.once('exit', resolve))
    admin?.destroy()
    running.kill('SIGKILL')
    await ended
    running = undefined
  }
  t.after(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  await admin!.query(`CREATE USER reader@'127.0.0.1'`)
  return {
    port,
    get admin() {
      return admin!
    },
    connect: () => connected(join(folder, 'socket'), running!),
    newDatabase: async (options = 'CHARACTER SET utf8mb4') => {
      const name = `test_${++databases}`
      await admin!.query(`CREATE DATABASE ${name} ${options}`)
      await admin!.query(`GRANT SELECT ON ${name}.* TO reader@'127.0.0.1'`)
      return name
    },
    stop,
    start,
  }
}

/** Starts a server for the tests of a suite. */
export function suiteMariadb(): TestMariadb {
  const cleanups: (() => Promise<void>)[] = []
  let server: TestMariadb | undefined
  before(async () => {
    server = await startMariadb({ after: (step) => void cleanups.push(step as () => Promise<void>) })
  })
  after(async () => {
    for (const step of cleanups) await step()
  })
  const at = (): TestMariadb => server!
  return {
    get port() {
      return at().port
    },
    get admin() {
      return at().admin
    },
    connect: () => at().connect(),
    newDatabase: (options) => at().newDatabase(options),
    stop: () => at().stop(),
    start: () => at().start(),
  }
}

async function connected(socketPath: string, running: ChildProcess): Promise<Connection> {
  for (;;) {
    try {
      const connection = await createConnection({
        socketPath,
        user: 'root',
        charset: 'utf8mb4',
        multipleStatements: true,
      })
      connection.on('error', () => undefined)
      return connection
    } catch (error) {
      if (running.exitCode !== null) throw error
      await wait(50)
    }
  }
}
