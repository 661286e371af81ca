/** The same operations with and without a daemon: the same results, of the shapes that scripts rely on. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { operate, stream } from '../../src/cli/control.ts'
import type { Options } from '../../src/cli/options.ts'
import { operations } from '../../src/control/index.ts'
import { AppError } from '#leaf/errors.ts'
import { goldenText, shapeOf } from './golden.ts'
import { folders, noPython, runService, type Folders } from './running-service.ts'

const user = 'sales@example.com'
const redirect_uris = ['https://portal.example.com/callback']
const run = '0'.repeat(32)
const imported = [
  { index: 0, line: 2, data: { customer_name: 'Imported', credit_limit: 12.345 } },
  { index: 1, line: 3, data: { customer_name: 'Imported', territory: 'Nowhere' } },
]
type Made = Readonly<Record<string, string>>

/** What an operator does, in order; later parameters use what earlier results gave. */
const deeds: readonly (readonly [string, (made: Made) => object])[] = [
  ['users.list', () => ({})],
  ['users.passwd', () => ({ user, password: 'a long pass phrase' })],
  ['users.invite', () => ({ user: 'hr@example.com' })],
  ['users.reset', () => ({ user, second_factor: true, seconds: 600 })],
  ['users.reset', () => ({ user: 'hr@example.com', everything: true })],
  ['users.cut_off', () => ({ user: 'hr@example.com', passkeys: true })],
  ['api_keys.create', () => ({ user, label: 'nightly', seconds: 3600 })],
  ['api_keys.list', () => ({ user })],
  ['api_keys.revoke', ({ api_key }) => ({ api_key })],
  ['clients.register', () => ({ name: 'Portal', redirect_uris, auth_method: 'client_secret_basic' })],
  ['clients.list', () => ({})],
  ['clients.show', ({ client_id }) => ({ client_id })],
  ['clients.update', ({ client_id }) => ({ client_id, name: 'Portal 2' })],
  ['clients.rotate_secret', ({ client_id }) => ({ client_id })],
  ['tokens.issue', ({ client_id: client }) => ({ user, client, seconds: 600 })],
  ['tokens.list', () => ({ user })],
  ['access.explain', ({ client_id: client }) => ({ user, subject: 'create_document', client })],
  ['access.explain', () => ({ user, subject: 'Customer' })],
  ['access.explain', () => ({ user })],
  ['access.explain', () => ({ user, subject: 'write_prompts' })],
  ['tools.list', () => ({})],
  ['grants.list', () => ({ user })],
  ['tokens.revoke', () => ({ user })],
  ['clients.prune', () => ({ dry_run: true })],
  ['clients.remove', ({ client_id }) => ({ client_id })],
  ['documents.import_target', () => ({ doctype: 'Customer' })],
  ['documents.import_mark', () => ({ run })],
  [
    'documents.import_rows',
    () => ({ doctype: 'Customer', run, from: 0, next: 2, refused: 0, last: true, rows: imported }),
  ],
  ['documents.import_mark', () => ({ run })],
  ['documents.export', () => ({ doctype: 'Customer', user, fields: 'name' })],
  ['keys.list', () => ({})],
  ['keys.rotate', () => ({})],
  ['prompts.list', () => ({})],
  ['prompts.show', () => ({ prompt: 'sales_analysis' })],
  [
    'prompts.preview',
    () => ({ prompt: 'sales_analysis', user, arguments: { analysis_focus: 'revenue_trends' } }),
  ],
  ['prompts.search', () => ({ user, query: 'sales' })],
  ['prompts.usage', () => ({ limit: 1 })],
  ['prompts.history', () => ({ prompt_id: 'visit' })],
  ['prompts.version', () => ({ prompt_id: 'visit', notes: 'for the spring' })],
  ['prompts.restore', () => ({ prompt_id: 'visit', version: 1 })],
  ['prompts.duplicate', () => ({ user, prompt_id: 'sales_analysis' })],
  ['site.reload', () => ({})],
  ['site.state_problems', ({ site }) => ({ site })],
  ['store.backup', () => ({})],
  ['audit.tail', () => ({ count: 1, type: 'cli.run' })],
  ['audit.search', () => ({ type: 'cli.run' })],
  ['audit.stats', () => ({ type: 'cli.' })],
  ['audit.verify', () => ({})],
  ['audit.change_key', () => ({})],
  ['audit.accept_loss', () => ({ reason: 'nothing is missing' })],
  ['status', () => ({})],
]

/** What only a daemon knows, and what belongs to its conversation with `doctor`. */
const daemonOnly: ReadonlySet<string> = new Set([
  'metrics',
  'oauth.trace',
  'daemon.health',
  'doctor.expect',
  'doctor.arrival',
  'doctor.examine',
])

const refusals: readonly (readonly [string, object, string])[] = [
  ['tokens.issue', { user: 'nobody@example.com' }, 'no user nobody@example.com'],
  ['tokens.list', { after: 'nobody' }, 'no token nobody'],
  ['tokens.issue', { usr: user }, '"user" is required; usr: unknown key; did you mean "user"?'],
  ['users.passwd', { user, password: 'short' }, 'password'],
  ['clients.show', { client_id: 'none' }, 'no client none'],
  ['access.explain', { user, subject: 'Costumer' }, '"Costumer" is neither a tool, a power nor a doctype'],
  ['access.explain', { user, subject: 'Customer', name: 'none' }, 'none'],
  [
    'audit.accept_outcome',
    { intention: 'x', outcome: 'done', reason: 'I looked' },
    'no change without an end has the intention "x"',
  ],
  ['audit.accept_writer', { writer: 'x', reason: 'it is ours' }, 'this daemon alone writes'],
]

/** What comes piece by piece is documented where it is made. */
const streams: Readonly<Record<string, string>> = {
  'audit.tail': 'lines of the audit log',
  'audit.search': 'lines of the audit log',
  'store.backup': 'the text of a backup',
  'documents.export': 'the text of documents, as CSV or lines of JSON',
}

interface Outcome {
  readonly shapes: Record<string, unknown>
  readonly audited: readonly string[]
  readonly refused: readonly string[]
}

describe('operations', () => {
  it(
    'give the same with and without a daemon, in the shapes that are promised',
    { timeout: 300_000 },
    async (t) => {
      const offline = await actAll(inGit(folders(t)).options)
      const service = await runService(t, { ...inGit(folders(t, [noPython])), analysis: true })
      const online = await actAll(service.options)
      assert.deepEqual(withoutDaemon(offline), withoutDaemon(online))
      assert.equal(
        offline.shapes['status'] && (offline.shapes['status'] as { daemon: unknown }).daemon,
        'null',
      )
      goldenText('json-shapes.json', `${JSON.stringify(online.shapes, null, 2)}\n`)
    },
  )

  it('are all compared so, but for those that only a daemon has', () => {
    const compared = new Set([...deeds, ...refusals].map(([name]) => name))
    const missing = Object.keys(operations).filter((name) => !compared.has(name) && !daemonOnly.has(name))
    assert.deepEqual(missing, [])
  })

  it('look at the site that they are asked about, and leave that of a running daemon alone', async (t) => {
    const service = await runService(t)
    const digest = service.daemon.services.site.state().digest
    const other = folders(t).site
    const task = join(other, 'config/doctypes/task.yaml')
    const text = readFileSync(task, 'utf8')
    writeFileSync(task, text.replace('options: [Low, Medium, High, Urgent]', 'options: [Low, Medium]'))
    const problems = await operate(service.options, 'site.state_problems', {
      site: other,
    })
    assert.equal(problems.length, 1)
    assert.deepEqual(await operate(service.options, 'site.state_problems', { site: service.site }), [])
    writeFileSync(task, 'doctype: [')
    await assert.rejects(operate(service.options, 'site.state_problems', { site: other }), /has one fault/)
    assert.equal(service.daemon.services.site.state().digest, digest)
  })

  it('follow the audit log without a gap and without telling an event twice, however it is written', async (t) => {
    const service = await runService(t)
    const { audit } = service.daemon.services
    const enough = new AbortController()
    const written = (async () => {
      while (!enough.signal.aborted) await audit.record({ type: 'test.event', status: 'ok' })
    })()
    for (let time = 0; time < 20; time++) {
      const seen: number[] = []
      for await (const item of stream(service.options, 'audit.tail', { count: 3, follow: true })) {
        seen.push((item as { seq: number }).seq)
        if (seen.length === 30) break
      }
      assert.deepEqual(
        seen,
        seen.map((_, index) => seen[0]! + index),
      )
    }
    enough.abort()
    await written
  })

  it('that only a daemon can answer say so without one', async (t) => {
    const { options } = folders(t)
    for (const name of ['metrics', 'oauth.trace'] as const)
      await assert.rejects(operate(options, name, {}), /no daemon runs on this state/)
  })

  it('are refused at the socket where nobody says who asks, and then nothing is kept or recorded', async (t) => {
    const service = await runService(t)
    for (const body of [{}, { actor: '' }, { actor: 7 }]) {
      const sent = request({
        socketPath: join(service.state, 'control.sock'),
        path: '/audit.accept_loss',
        method: 'POST',
      })
      sent.end(JSON.stringify({ ...body, params: { reason: 'the disk died' } }))
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      const { error } = (await json(response)) as { error: { code: string; message: string } }
      assert.deepEqual([error.code, error.message], ['invalid', 'actor must say who asks'])
    }
    const recorded: unknown[] = []
    for await (const item of stream(service.options, 'audit.tail', { count: 100 }))
      recorded.push((item as { type: string }).type)
    assert.ok(recorded.length > 0)
    assert.deepEqual(
      recorded.filter((type) => type === 'audit.accept' || type === 'cli.run'),
      [],
    )
  })

  it('take a socket that a dead daemon left for no daemon', async (t) => {
    const service = await runService(t)
    await service.daemon.stop()
    rmSync(join(service.state, 'control.sock'), { force: true })
    const status = await operate(service.options, 'status', {})
    assert.equal(status.daemon, null)
  })
})

/** With a prompt of the site's own, in a repository that knows it. */
function inGit(where: Folders): Folders {
  writeFileSync(
    join(where.site, 'prompts/visit.md'),
    '---\ntitle: Visit\ndescription: Reports a visit\nstatus: Published\nvisibility: Public\n---\nReport the visit.\n',
  )
  for (const words of [
    ['init', '-q'],
    ['add', '.'],
    ['-c', 'user.name=Maria', '-c', 'user.email=maria@example.com', 'commit', '-qm', 'the site'],
  ])
    execFileSync('git', ['-C', where.site, ...words])
  return where
}

/** By a name that only running the test decides. */
function asked(options: Options, name: string, params: object): AsyncGenerator {
  return stream(options, name as 'audit.tail', params)
}

async function actAll(options: Options): Promise<Outcome> {
  const made: Record<string, string> = {}
  const shapes: Record<string, unknown> = {}
  for (const [name, params] of deeds) {
    const results: unknown[] = []
    for await (const item of asked(options, name, params({ ...made, site: options.site }))) results.push(item)
    for (const key of ['api_key', 'client_id'])
      if (/create|register/.test(name)) made[key] ??= (results[0] as Made)[key]!
    // Streams of events: what an event may hold besides is told by the audit log's own documentation.
    const times = Object.keys(shapes).filter((one) => one.replace(/ \(\d\)$/, '') === name).length
    shapes[times === 0 ? name : `${name} (${times + 1})`] = streams[name] ?? shapeOf(results[0])
    if (streams[name] !== undefined) assert.ok(results.length > 0, name)
  }
  const refused: string[] = []
  for (const [name, params, expected] of refusals) {
    const message = await asked(options, name, params)
      .next()
      .then(
        () => assert.fail(`${name} was not refused`),
        (error: unknown) => (error instanceof AppError ? `${error.code}: ${error.message}` : String(error)),
      )
    assert.ok(message.includes(expected), `${name}: ${message}`)
    refused.push(message)
  }
  const audited: string[] = []
  for await (const item of stream(options, 'audit.search', { type: 'cli.run' })) {
    const { target, status } = item as { target: string; status: string }
    audited.push(`${target} ${status}`)
  }
  return { shapes, audited, refused }
}

/** What rightly differs: a daemon tells of itself and of what it computes. */
function withoutDaemon({ shapes, audited, refused }: Outcome): unknown {
  const { status, ...rest } = shapes
  const {
    daemon: _daemon,
    requests: _requests,
    sandboxes: _sandboxes,
    ...said
  } = status as Record<string, unknown>
  return { ...rest, status: said, audited, refused }
}
