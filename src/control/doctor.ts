/** `doctor` on this machine: site, state, permissions, room, clock, ports, sandbox, fonts. Works while a daemon runs and while nothing does. */
import { readdirSync, statfsSync, statSync, type Stats } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { openAnalysis, type AnalysisProbe } from '../analysis/analysis.ts'
import { tailAudit } from '../audit/search.ts'
import { isoTime, type Clock } from '../core/clock.ts'
import { AppError, messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Settings } from '../core/settings.ts'
import type { ReadinessCheck } from '../health-endpoint.ts'
import { faultText } from '../site/site-files.ts'
import { databaseUrl } from '../open-state.ts'
import { packageFolder } from '../core/version.ts'
import { readWholeSite } from '../snapshot.ts'
import { lockHolder } from '../store/lock.ts'
import { verifyStore } from '../store/verify.ts'
import { fine, unknown, wrong, type Finding } from './finding.ts'

/** What a running daemon says of itself (`daemon.health`). */
export interface DaemonHealth {
  readonly now: number
  readonly public_url: string
  readonly checks: readonly ReadinessCheck[]
  readonly probes: readonly AnalysisProbe[]
}

/** What there is to look at. */
export interface Patient {
  readonly site: string
  readonly state: string
  readonly publicUrl?: string
  readonly clock: Clock
  readonly log: Log
  /** The running daemon's word; undefined when none runs. */
  readonly health: DaemonHealth | undefined
}

const megabyte = 1_048_576
const leastBytes = 100 * megabyte
const fewBytes = 1024 * megabyte

/** Looks at everything on this machine. Never throws for what it finds. */
export async function examine(patient: Patient): Promise<readonly Finding[]> {
  const { settings, findings } = await examineSite(patient)
  return [
    examineRuntime(),
    ...findings,
    ...(await examineState(patient, settings)),
    ...(settings ? examineSecrets(settings) : []),
    ...(await examineClock(patient)),
    ...(await examineDaemon(patient, settings)),
    ...(await examineAnalysis(patient, settings)),
    examineFonts(),
  ]
}

function examineRuntime(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 20 || (major === 20 && minor >= 15)
    ? fine('runtime.node', `Node.js ${process.versions.node}`)
    : wrong(
        'runtime.node',
        'failure',
        `Node.js ${process.versions.node}`,
        'this release needs Node.js 20.15 or newer',
        'install a newer Node.js, for example from nodejs.org',
      )
}

async function examineSite({
  site,
  publicUrl,
  health,
}: Patient): Promise<{ settings?: Settings; findings: readonly Finding[] }> {
  try {
    const { reading, faults } = await readWholeSite(site)
    if (faults.length > 0)
      return {
        findings: [
          wrong(
            'site.valid',
            'failure',
            `${faults.length} faults; the first is ${faultText(faults[0]!)}`,
            'the last edit of the site broke it; a running daemon goes on with the one before',
            `mend them: assistant-core check --site ${site}`,
          ),
        ],
      }
    const { settings } = reading
    return {
      settings,
      findings: [
        fine(
          'site.valid',
          `${site}: ${reading.people.users.size} users, ${reading.platform.doctypes.size} doctypes`,
        ),
        examineAddress(publicUrl ?? settings.public_url ?? published(health)),
        examineTestSettings(settings),
      ],
    }
  } catch (error) {
    return {
      findings: [
        wrong(
          'site.valid',
          'failure',
          messageOf(error),
          `${site} cannot be read`,
          'name the site with --site',
        ),
      ],
    }
  }
}

/** What the daemon was told on its command line, when that is more than this machine's own name. */
function published(health: DaemonHealth | undefined): string | null {
  return health === undefined || isLocal(new URL(health.public_url).hostname) ? null : health.public_url
}

function examineAddress(url: string | null): Finding {
  const check = 'site.public_url'
  if (url === null)
    return wrong(
      check,
      'warning',
      'public_url is not set',
      'addresses are published as http://localhost, so only this machine can connect',
      'set public_url in config/settings.yaml to the address that clients use',
    )
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || isLocal(hostname)
    ? fine(check, url)
    : wrong(
        check,
        'failure',
        url,
        'tokens travel in clear text, and most clients refuse an http address',
        'put a TLS proxy in front and set public_url to its https address (systemd/README.md)',
      )
}

/** Whether a host name means this machine only. */
export function isLocal(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}

function examineTestSettings({ oauth, rate_limits: limits }: Settings): Finding {
  const on = [
    ...(oauth.skip_authorization ? ['oauth.skip_authorization is on'] : []),
    ...(oauth.developer_mode ? ['oauth.developer_mode is on'] : []),
    ...(limits.enabled ? [] : ['rate_limits.enabled is off']),
  ]
  return on.length === 0
    ? fine('site.test_settings', 'nothing that is for tests only is on')
    : wrong(
        'site.test_settings',
        'warning',
        on.join(', '),
        'this is for tests only and takes protection away',
        'give these settings their defaults',
      )
}

async function examineState(
  { state, clock }: Patient,
  settings: Settings | undefined,
): Promise<readonly Finding[]> {
  let facts: Stats
  try {
    facts = statSync(state)
  } catch (error) {
    return [
      (error as NodeJS.ErrnoException).code === 'ENOENT'
        ? unknown('state.mode', `${state} does not exist yet; the first start makes it`)
        : wrong(
            'state.mode',
            'failure',
            messageOf(error),
            'the state cannot be reached',
            "run this as the daemon's user",
          ),
    ]
  }
  const content =
    settings?.store.kind === 'postgres'
      ? await examineDatabase(settings.store, clock)
      : await examineContent(state)
  return [examineModes(state, facts), examineRoom(state), content]
}

function examineModes(state: string, facts: Stats): Finding {
  const check = 'state.mode'
  const open = [
    { path: state, facts },
    ...readdirSync(state).map((name) => ({ path: join(state, name), facts: statSync(join(state, name)) })),
  ]
  const readable = open.filter((one) => (one.facts.mode & 0o077) !== 0).map(({ path }) => path)
  const foreign = open.filter((one) => one.facts.uid !== facts.uid).map(({ path }) => path)
  if (foreign.length > 0)
    return wrong(
      check,
      'failure',
      `${foreign.slice(0, 3).join(', ')} belong to another user than ${state}`,
      'a command was run as another user, often as root',
      `chown -R --reference=${state} ${state}`,
    )
  return readable.length === 0
    ? fine(check, `${state} is closed to other users`)
    : wrong(
        check,
        'failure',
        `others may read ${readable.slice(0, 3).join(', ')}`,
        'the state holds password hashes and signing keys',
        `chmod -R go= ${state}`,
      )
}

function examineRoom(state: string): Finding {
  const { bavail, bsize } = statfsSync(state)
  const free = bavail * bsize
  const detail = `${Math.floor(free / megabyte)} MB free`
  if (free >= fewBytes) return fine('state.room', detail)
  return wrong(
    'state.room',
    free < leastBytes ? 'failure' : 'warning',
    detail,
    'when the disk is full, everything that must be audited is refused',
    'make room, or lower audit.max_total_bytes and audit.retention_days',
  )
}

async function examineContent(state: string): Promise<Finding> {
  const check = 'state.valid'
  try {
    const { ok, documents, faults } = await verifyStore(state)
    const count = Object.values(documents).reduce((sum, one) => sum + one, 0)
    return ok
      ? fine(check, `${count} records`)
      : wrong(
          check,
          'failure',
          faults[0] ?? 'damaged',
          'the disk, or somebody, changed the files of the state',
          'assistant-core store verify names every line; restore the last backup',
        )
  } catch (error) {
    return unknown(check, messageOf(error))
  }
}

async function examineDatabase(settings: Settings['store'], clock: Clock): Promise<Finding> {
  const check = 'state.database'
  try {
    const { verifyPostgres } = await import('../store/postgres-verify.ts')
    const { ok, documents, faults } = await verifyPostgres(await databaseUrl(settings), clock)
    const count = Object.values(documents).reduce((sum, one) => sum + one, 0)
    return ok
      ? fine(check, `${count} records`)
      : wrong(
          check,
          'failure',
          faults[0] ?? 'damaged',
          'somebody changed the tables of the state',
          'assistant-core store verify names every document; restore the last backup',
        )
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return unknown(check, error.message)
    return wrong(
      check,
      'failure',
      messageOf(error),
      'the database cannot be used, and without it nothing works',
      'look whether it runs, and at the file that store.url_file names',
    )
  }
}

function examineSecrets({ login, audit, tracing, store }: Settings): readonly Finding[] {
  const files = [
    store.url_file,
    login.oidc?.client_secret_file,
    audit.webhook_secret_file,
    tracing.headers_file,
  ].filter((file): file is string => typeof file === 'string')
  return files.map((file) => {
    try {
      const { mode } = statSync(file)
      return (mode & 0o077) === 0
        ? fine('secrets.mode', `${file} is closed to other users`)
        : wrong(
            'secrets.mode',
            'failure',
            `others may read ${file}`,
            'its mode is too wide',
            `chmod 600 ${file}`,
          )
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EACCES'
        ? unknown('secrets.mode', `${file} cannot be looked at by this user`)
        : wrong(
            'secrets.mode',
            'failure',
            messageOf(error),
            'a setting names a file that is not there',
            'write the secret to that file, mode 0600, or correct the setting',
          )
    }
  })
}

async function examineClock({ state, clock, health }: Patient): Promise<readonly Finding[]> {
  const now = clock.now()
  const released = statSync(join(packageFolder, 'package.json')).mtimeMs
  const last = (await tailAudit(join(state, 'audit'), 1).catch(() => []))[0]
  const ahead = last === undefined ? 0 : Date.parse(last.time) - now
  const drift = health === undefined ? 0 : Math.abs(health.now - now)
  if (now < released || ahead > 60_000 || drift > 60_000)
    return [
      wrong(
        'clock.plausible',
        'failure',
        `it is ${isoTime(now)} here${ahead > 60_000 ? `, but the audit log has been written to at ${last?.time}` : ''}`,
        'the clock stands wrong; tokens end too early or too late',
        'synchronise it: timedatectl set-ntp true',
      ),
    ]
  let synchronised = false
  try {
    statSync('/run/systemd/timesync/synchronized')
    synchronised = true
  } catch {
    // Other programs can keep the time too, and leave no such trace.
  }
  return [
    fine('clock.plausible', isoTime(now)),
    synchronised
      ? fine('clock.synchronised', 'systemd-timesyncd keeps the time')
      : unknown('clock.synchronised', 'not by systemd-timesyncd; whether by another program cannot be seen'),
  ]
}

async function examineDaemon(
  { state, health }: Patient,
  settings: Settings | undefined,
): Promise<readonly Finding[]> {
  if (health)
    return [
      fine('daemon.running', `it publishes ${health.public_url}`),
      ...health.checks.map((check) =>
        check.status === 'ok'
          ? fine(`daemon.${check.name}`, check.detail)
          : wrong(
              `daemon.${check.name}`,
              check.status === 'failed' ? 'failure' : 'warning',
              check.detail,
              'the running daemon says so',
              "assistant-core status and the daemon's log have the details",
            ),
      ),
    ]
  const holder = await lockHolder(state).catch(() => undefined)
  if (holder)
    return [
      wrong(
        'daemon.running',
        'failure',
        `process ${holder.pid} has the state since ${holder.since}, and its control socket does not answer`,
        "it is starting, stopping or stuck, or this is another user than the daemon's",
        "look at its log; run this as the daemon's user",
      ),
    ]
  return [
    unknown('daemon.running', 'no daemon runs on this state'),
    ...(settings ? [await examinePort(settings.server.host, settings.server.port)] : []),
  ]
}

function examinePort(host: string, port: number): Promise<Finding> {
  const check = 'port.free'
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(
        wrong(
          check,
          'failure',
          `${host}:${port}: ${error.code ?? error.message}`,
          error.code === 'EADDRINUSE'
            ? 'another program listens there'
            : 'this user may not listen there, or the machine has no such address',
          'change server.host or server.port, or stop the other program (ss -ltnp)',
        ),
      ),
    )
    server.listen(port, host, () => server.close(() => resolve(fine(check, `${host}:${port} is free`))))
  })
}

async function examineAnalysis(
  { health, log }: Patient,
  settings: Settings | undefined,
): Promise<readonly Finding[]> {
  const found = health?.probes ?? (settings ? await probeHere(settings, log) : undefined)
  if (!found) return [unknown('sandbox', 'the settings cannot be read')]
  return found.map(({ name, ok, detail, mend }) =>
    ok
      ? fine(`analysis.${name}`, detail)
      : wrong(
          `analysis.${name}`,
          'warning',
          detail,
          'the tools that need it are not offered',
          mend ?? 'see systemd/README.md',
        ),
  )
}

async function probeHere(settings: Settings, log: Log): Promise<readonly AnalysisProbe[] | undefined> {
  const analysis = await openAnalysis({ settings: settings.analysis, log })
  await analysis.close()
  return analysis.probes
}

function examineFonts(): Finding {
  const folders = ['/usr/share/fonts', '/usr/local/share/fonts']
  const found = folders.some((folder) => {
    try {
      return readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((name) =>
        /\.(ttf|otf|ttc)$/i.test(name),
      )
    } catch {
      return false
    }
  })
  return found
    ? fine('fonts', 'there are fonts for charts')
    : wrong(
        'fonts',
        'warning',
        `no font in ${folders.map((folder) => dirname(join(folder, 'x'))).join(', ')}`,
        'pictures of charts have no text',
        'apt-get install fonts-dejavu-core',
      )
}
