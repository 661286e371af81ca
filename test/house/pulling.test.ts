/** A service whose site is pulled from a git repository: what it says, what it serves, what it refuses. */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { folders, type RunningService, runService } from '../cli/running-service.ts'
import { temporaryFolder } from '../helpers/daemon.ts'
import { gitIn, withoutGit, writeFiles } from '../../packages/site/test/site-folder.ts'
import { until } from '../../packages/state/test/state-folder.ts'

const visit = (text: string): string =>
  `---\ntitle: Visit\nstatus: Published\nvisibility: Public\n---\n${text}\n`

interface Pulled {
  /** Where people work on the site. */
  readonly work: string
  readonly bare: string
  readonly where: ReturnType<typeof folders>
  readonly push: (files: Readonly<Record<string, string>>) => string
}

/** The shipped site in a bare repository, pulled only when asked to, and an empty folder that says so. */
function repository(t: TestContext, interval = 0): Pulled {
  const top = temporaryFolder(t)
  const bare = join(top, 'bare.git')
  const url = `file://${bare}`
  const where = folders(t, [
    ['    url: null\n    # The', `    url: ${url}\n    # The`],
    ['    interval: 60', `    interval: ${interval}`],
  ])
  const work = join(top, 'work')
  cpSync(where.site, work, { recursive: true })
  gitIn(top, 'init', '--quiet', '--bare', '--initial-branch=main', bare)
  gitIn(work, 'init', '--quiet', '--initial-branch=main')
  gitIn(work, 'remote', 'add', 'origin', bare)
  const push = (files: Readonly<Record<string, string>>): string => {
    writeFiles(work, files)
    gitIn(work, 'add', '--all')
    gitIn(work, 'commit', '--quiet', '--message', 'more')
    gitIn(work, 'push', '--quiet', 'origin', 'main')
    return gitIn(work, 'rev-parse', 'HEAD')
  }
  push({ 'prompts/visit.md': visit('one') })
  const settings = readFileSync(join(where.site, 'config/settings.yaml'), 'utf8')
  rmSync(where.site, { recursive: true })
  mkdirSync(join(where.site, 'config'), { recursive: true })
  writeFileSync(join(where.site, 'config/settings.yaml'), settings)
  return { work, bare, where, push }
}

const text = ({ daemon }: RunningService): string =>
  Buffer.from(daemon.services.site.current().library.site.read('visit').document.bytes).toString('utf8')

describe('a service whose site is pulled', { skip: withoutGit() }, () => {
  it('clones it into a folder that holds the settings alone, and serves each commit from then on', async (t) => {
    const { where, push, work } = repository(t)
    const service = await runService(t, where)
    assert.match(text(service), /one/)
    assert.equal(gitIn(where.site, 'rev-parse', 'HEAD'), gitIn(work, 'rev-parse', 'HEAD'))
    const second = push({ 'prompts/visit.md': visit('two') })
    await operate(service.options, 'site.reload', {})
    assert.match(text(service), /two/)
    const { pulled } = (await operate(service.options, 'status', {})).site
    assert.deepEqual(
      [pulled?.commit, pulled?.seen, pulled?.problem, pulled?.faults],
      [second, second, '', []],
    )
    const ready = (await (await fetch(`${service.url}/readyz`)).json()) as {
      checks: { name: string; status: string }[]
    }
    assert.equal(ready.checks.find(({ name }) => name === 'site_pull')?.status, 'ok')
    await service.daemon.services.reload('SIGHUP')
    assert.match(text(service), /two/)
  })

  it('is not followed to a commit in which a Published prompt fails its own tests, unless what is served does so too', async (t) => {
    const tested = (text: string): string =>
      visit(text).replace('title: Visit', 'title: Visit\ntests: [{ name: says two, contains: two }]')
    const { where, push } = repository(t)
    // A service that starts with nothing is not kept waiting by a text.
    const first = push({ 'prompts/visit.md': tested('one'), 'prompts/other.md': tested('two') })
    const service = await runService(t, where)
    assert.equal(gitIn(where.site, 'rev-parse', 'HEAD'), first)
    const told = async (): Promise<readonly string[]> =>
      (await operate(service.options, 'status', {})).site.faults
    const failing = 'prompts/visit.md:3:9 tests[0]: says two: does not contain "two"'
    assert.deepEqual(await told(), [failing])
    const second = push({ 'prompts/more.md': visit('three') })
    await operate(service.options, 'site.reload', {})
    assert.equal(gitIn(where.site, 'rev-parse', 'HEAD'), second)
    const bad = push({ 'prompts/other.md': tested('one') })
    await assert.rejects(operate(service.options, 'site.reload', {}), (error: Error) =>
      error.message.includes(`${bad.slice(0, 12)}:prompts/other.md:3:9 tests[0]: says two`),
    )
    assert.equal(gitIn(where.site, 'rev-parse', 'HEAD'), second)
    push({ 'prompts/other.md': tested('two'), 'prompts/visit.md': tested('two') })
    await operate(service.options, 'site.reload', {})
    assert.deepEqual(await told(), [])
  })

  it('serves the last good commit while the newest has faults, and says which, where, and to whom it asks', async (t) => {
    const { where, push } = repository(t)
    const service = await runService(t, where)
    const first = gitIn(where.site, 'rev-parse', 'HEAD')
    const bad = push({ 'prompts/visit.md': visit('two').replace('Published', 'Publshed') })
    const place = `${bad.slice(0, 12)}:prompts/visit.md:3:9 status: `
    await assert.rejects(operate(service.options, 'site.reload', {}), (error: Error) =>
      error.message.includes(place),
    )
    assert.match(text(service), /one/)
    assert.equal(gitIn(where.site, 'rev-parse', 'HEAD'), first)
    const status = await operate(service.options, 'status', {})
    assert.deepEqual([status.site.pulled?.commit, status.site.pulled?.seen], [first, bad])
    assert.ok(status.site.pulled?.faults[0]?.startsWith(place))
    assert.equal(status.checks.find(({ name }) => name === 'site_pull')?.status, 'degraded')
    const told = service.lines.filter(({ msg }) => String(msg).startsWith('the site is not pulled'))
    await assert.rejects(operate(service.options, 'site.reload', {}))
    assert.equal(told.length, 1)
    assert.ok(JSON.stringify(told).includes(place))
    const events = await operate(service.options, 'audit.search', { type: 'site.reload' })
    assert.ok(JSON.stringify(events).includes(place))
    push({ 'prompts/visit.md': visit('three') })
    await operate(service.options, 'site.reload', {})
    assert.match(text(service), /three/)
    assert.ok(service.lines.some(({ msg }) => msg === 'the site is pulled again'))
  })

  it('says that it is not pulled any more where the repository brings settings that name none', async (t) => {
    const { where, push, work } = repository(t)
    const settings = readFileSync(join(work, 'config/settings.yaml'), 'utf8')
    push({ 'config/settings.yaml': settings.replace(/url: file:.*/, 'url: null') })
    const { options } = await runService(t, where)
    const { warnings } = (await operate(options, 'status', {})).site
    assert.match(
      warnings.join('\n'),
      /settings\.yaml:\d+:\d+ site\.git\.url: this site was pulled .*nothing is pulled any more/,
    )
  })

  it('pulls by itself', async (t) => {
    const { where, push } = repository(t, 1)
    const service = await runService(t, where)
    push({ 'prompts/visit.md': visit('by itself') })
    await until(() => text(service).includes('by itself'))
  })

  it('writes nothing into it, and is not asked to commit there', async (t) => {
    const { where, push } = repository(t)
    const service = await runService(t, where)
    const first = gitIn(where.site, 'rev-parse', 'HEAD')
    await assert.rejects(
      operate(service.options, 'prompts.duplicate', { prompt_id: 'visit', user: 'sales@example.com' }),
      /the site is read-only: it is pulled from a git repository/,
    )
    assert.equal(gitIn(where.site, 'status', '--porcelain', '--', 'prompts'), '')
    const settings = readFileSync(join(where.site, 'config/settings.yaml'), 'utf8')
    push({ 'config/settings.yaml': settings.replace('  commit: false', '  commit: true') })
    await assert.rejects(
      operate(service.options, 'site.reload', {}),
      /settings\.yaml:\d+:\d+ git\.commit: commits made here would reach no other daemon/,
    )
    assert.equal(gitIn(where.site, 'rev-parse', 'HEAD'), first)
  })
})
