/**
 * Programs that others wrote, in exact versions, each on its whole way through a service that has no way out: what is seen on
 * the wire is compared with what is expected, and written to README.md. It goes on in a network of its own, without egress.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { clients, type Driven } from './clients.ts'
import { type Lane, openLane, type Step, steps } from './lane.ts'
import { install } from './programs.ts'

const readme = join(import.meta.dirname, 'README.md')
const isolated = 'MATRIX_ISOLATED'
const words = process.argv.slice(2)

interface Result {
  readonly client: Driven
  readonly seen: ReadonlyMap<Step, string>
  readonly faults: readonly string[]
}

if (process.env[isolated] === undefined) {
  const installed = await install().catch((error: unknown) => {
    console.log(String(error))
    // EX_TEMPFAIL: whoever serves the programs may have them tomorrow.
    process.exit(75)
  })
  if ('missing' in installed) {
    console.log(`the programs cannot be fetched here: ${installed.missing}`)
    console.log(`0 passed, 0 failed, ${clients.length} skipped`)
    process.exit(0)
  }
  const args = ['--import', 'tsx', import.meta.filename, ...words]
  const tls = mkdtempSync(join(tmpdir(), 'clients-tls-'))
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const pair = [
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    join(tls, 'key.pem'),
    '-out',
    join(tls, 'cert.pem'),
  ]
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...pair, ...names], { stdio: 'ignore' })
  const env = {
    ...process.env,
    [isolated]: installed.folder,
    MATRIX_TLS: tls,
    NODE_EXTRA_CA_CERTS: join(tls, 'cert.pem'),
  }
  const alone = spawnSync('unshare', ['--net', 'true']).status === 0
  if (!alone)
    console.log(
      'no network of its own can be had here (unshare --net): egress is only as closed as the machine',
    )
  const inside = ['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', process.execPath, ...args]
  const { status } = alone
    ? spawnSync('unshare', inside, { env, stdio: 'inherit' })
    : spawnSync(process.execPath, args, { env, stdio: 'inherit' })
  rmSync(tls, { recursive: true, force: true })
  process.exit(status ?? 1)
}

const folder = process.env[isolated]
const chosen = clients.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word.toLowerCase())),
)
const results: Result[] = []
// One after the other through a service; the services side by side.
await Promise.all(
  [...new Set(chosen.map(({ lane }) => lane))].map(async (kind) => {
    const prepared = await kind.prepare?.(folder)
    const waiting = chosen.filter(({ lane }) => lane === kind)
    const walkAll = async (): Promise<void> => {
      const lane = await openLane(prepared?.settings ?? kind.settings)
      try {
        for (let client = waiting.shift(); client; client = waiting.shift()) {
          const result = await drive(client, lane, prepared?.given)
          // What others wrote stumbles now and then; what is a fault is one twice.
          results.push(result.faults.length === 0 ? result : await drive(client, lane, prepared?.given))
        }
      } finally {
        await lane.close()
      }
    }
    await Promise.all(Array.from({ length: Math.min(kind.lanes ?? 1, waiting.length) }, walkAll))
    await prepared?.close()
  }),
)

async function drive(client: Driven, lane: Lane, given: unknown): Promise<Result> {
  const started = Date.now()
  const walk = lane.begin(!('live edit' in client.lacks))
  const faults: string[] = []
  try {
    await client.go(walk, folder, given)
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error))
  }
  const seen = walk.done()
  for (const step of steps) {
    if (step in client.lacks) {
      if (seen.has(step))
        faults.push(`${step}: it does by now (${seen.get(step)}); the table says that it does not`)
    } else if (!seen.has(step)) faults.push(`${step}: not seen`)
  }
  console.log(
    `${faults.length === 0 ? 'ok' : 'not ok'} ${client.name} ${client.version} (${Date.now() - started} ms)`,
  )
  if (faults.length > 0) faults.push(walk.story())
  for (const fault of faults) console.log(`   ${fault.replaceAll('\n', '\n   ')}`)
  return { client, seen, faults }
}

if (words.length === 0) {
  const before = readFileSync(readme, 'utf8')
  const mark = '<!-- written by npm run test:clients, from here on -->\n'
  const [head = ''] = before.split(mark)
  const written = head + mark + tableOf(results)
  writeFileSync(readme, written)
  if (written !== before && process.env['CI'] !== undefined) {
    console.log('test/clients/README.md is not what this run found; commit what it wrote:')
    console.log(execFileSync('git', ['diff', '--', readme]).toString())
    process.exitCode = 1
  }
}
const failed = results.filter(({ faults }) => faults.length > 0).length
if (failed > 0 || results.length === 0) process.exitCode = 1
console.log(`${results.length - failed} passed, ${failed} failed`)

function tableOf(all: readonly Result[]): string {
  const heads = ['client', 'version', ...steps, 'result']
  const rows = clients.map((client) => {
    const { seen, faults } = all.find((one) => one.client === client)!
    const cells = steps.map((step) => seen.get(step) ?? '–')
    return [client.name, client.version, ...cells, faults.length === 0 ? 'works' : '**fails**']
  })
  const notes = clients
    .filter(({ lacks, note }) => note !== undefined || Object.keys(lacks).length > 0)
    .map(({ name, lacks, note }) => {
      const reasons = Object.entries(lacks).map(([step, why]) => `${step}: ${why}`)
      return `- **${name}** – ${[...(note === undefined ? [] : [note]), ...reasons].join('; ')}.`
    })
  const table = [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`)
  return `\n${table.join('\n')}\n\nWhat a dash means, and whose fault it is:\n\n${notes.join('\n')}\n`
}
