/** The same operations with and without a daemon: the same results, of the shapes that scripts rely on. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { operate, stream } from '../../src/cli/control.ts'
import type { Options } from '../../src/cli/options.ts'
import { AppError } from '../../src/core/errors.ts'
import { goldenText, shapeOf } from './golden.ts'
import { folders, runService } from './running-service.ts'

const user = 'sales@example.com'
const redirect_uris = ['https://portal.example.com/callback']
type Made = Readonly<Record<string, string>>

/** What an operator does, in order; later parameters use what earlier results gave. */
const deeds: readonly (readonly [string, (made: Made) => object])[] = [
  ['users.list', () => ({})],
  ['users.passwd', () => ({ user, password: 'a long pass phrase' })],
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
  ['tokens.revoke', () => ({ user })],
  ['clients.prune', () => ({ dry_run: true })],
  ['clients.remove', ({ client_id }) => ({ client_id })],
  ['keys.list', () => ({})],
  ['keys.rotate', () => ({})],
  ['oauth.trace', () => ({})],
  ['prompts.list', () => ({})],
  ['prompts.show', () => ({ prompt: 'sales_analysis' })],
  ['site.reload', () => ({})],
  ['audit.tail', () => ({ count: 1, type: 'cli.run' })],
  ['audit.search', () => ({ type: 'cli.run' })],
  ['audit.stats', () => ({ type: 'cli.' })],
  ['audit.verify', () => ({})],
  ['status', () => ({})],
]

/** Without a daemon each opens the state anew, which takes its time; these stand for the others. */
const alsoOffline: ReadonlySet<string> = new Set([
  'users.list',
  'api_keys.create',
  'api_keys.revoke',
  'clients.register',
  'tokens.issue',
  'tokens.list',
  'access.explain',
  'clients.remove',
  'site.reload',
  'audit.search',
  'audit.verify',
  'status',
])

const refusals: readonly (readonly [string, object, string])[] = [
  ['tokens.issue', { user: 'nobody@example.com' }, 'no user nobody@example.com'],
  ['tokens.issue', { usr: user }, '"user" is required; usr: unknown key; did you mean "user"?'],
  ['users.passwd', { user, password: 'short' }, 'password'],
  ['clients.show', { client_id: 'none' }, 'no client none'],
  ['access.explain', { user, subject: 'Costumer' }, '"Costumer" is neither a tool nor a doctype'],
  ['access.explain', { user, subject: 'Customer', name: 'none' }, 'none'],
]

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
      const offline = await actAll(
        folders(t).options,
        deeds.filter(([name]) => alsoOffline.has(name)),
      )
      const service = await runService(t)
      const online = await actAll(service.options, deeds)
      assert.deepEqual(withoutDaemon(offline), withoutDaemon(online))
      assert.equal(
        offline.shapes['status'] && (offline.shapes['status'] as { daemon: unknown }).daemon,
        'null',
      )
      goldenText('json-shapes.json', `${JSON.stringify(online.shapes, null, 2)}\n`)
    },
  )

  it('that only a daemon can answer say so without one', async (t) => {
    const { options } = folders(t)
    await assert.rejects(operate(options, 'metrics', {}), /no daemon runs on this state/)
  })

  it('take a socket that a dead daemon left for no daemon', async (t) => {
    const service = await runService(t)
    await service.daemon.stop()
    rmSync(join(service.state, 'control.sock'), { force: true })
    const status = await operate<{ daemon: unknown }>(service.options, 'status', {})
    assert.equal(status.daemon, null)
  })
})

async function actAll(options: Options, wanted: typeof deeds): Promise<Outcome> {
  const made: Record<string, string> = {}
  const shapes: Record<string, unknown> = {}
  for (const [name, params] of wanted) {
    const results: unknown[] = []
    for await (const item of stream(options, name, params(made))) results.push(item)
    for (const key of ['api_key', 'client_id'])
      if (/create|register/.test(name)) made[key] ??= (results[0] as Made)[key]!
    // Streams of events: what an event may hold besides is told by the audit log's own documentation.
    shapes[shapes[name] === undefined ? name : `${name} (doctype)`] = /^audit\.(tail|search)$/.test(name)
      ? 'lines of the audit log'
      : shapeOf(results[0])
    if (/^audit\.(tail|search)$/.test(name)) assert.ok(results.length > 0, name)
  }
  const refused: string[] = []
  for (const [name, params, expected] of refusals) {
    const message = await operate(options, name, params).then(
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

/** What rightly differs: a daemon tells of itself and of what it computes, and was asked for more. */
function withoutDaemon({ shapes, audited, refused }: Outcome): unknown {
  const same = Object.entries(shapes).filter(([name]) => alsoOffline.has(name.split(' ')[0]!))
  const { status, ...rest } = Object.fromEntries(same)
  const { daemon: _daemon, ...said } = status as Record<string, unknown>
  return {
    ...rest,
    status: said,
    audited: audited.filter((line) => alsoOffline.has(line.split(' ')[0]!)),
    refused,
  }
}
