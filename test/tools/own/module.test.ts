/** The documented module of a site, through the real launcher, in a site that `init` made: no package.json, no restart. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import {
  projectRoot,
  runCli,
  startDaemon,
  temporaryFolder,
  type RunningDaemon,
} from '../../helpers/daemon.ts'
import { blocksOf } from '../../helpers/readme.ts'
import { textOfCall, tokenOf } from '../../helpers/tool-calls.ts'

const manual = readFileSync(join(projectRoot, 'config/README.md'), 'utf8')
const block = (start: string): string => blocksOf(manual).find(({ text }) => text.startsWith(start))!.text
const documented = block('// tools/double.ts')

describe('a module in tools/ of a site that init made', () => {
  it('is loaded as the manual prints it, whatever its ending, and a running daemon takes corrections in', async (t) => {
    const site = join(temporaryFolder(t), 'site')
    assert.equal((await runCli(['init', site, '--template', 'trading'])).code, 0)
    mkdirSync(join(site, 'tools/lib'), { recursive: true })
    const named = (name: string, text: string): string => text.replace("'double'", `'${name}'`)
    writeFileSync(join(site, 'tools/double.ts'), documented)
    for (const ending of ['mts', 'js', 'mjs'])
      writeFileSync(join(site, `tools/double-${ending}.${ending}`), named(`double_${ending}`, documented))
    const tools = join(site, 'config/tools.yaml')
    writeFileSync(tools, readFileSync(tools, 'utf8').replace(/^( *)- list_documents$/m, '$&\n$1- double*'))
    assert.deepEqual(await runCli(['check', '--site', site]).then(({ code }) => code), 0)

    const daemon = await startDaemon(t, { site })
    const call = await callerOf(daemon)
    for (const name of ['double', 'double_mts', 'double_js', 'double_mjs'])
      assert.match(await call(name), /twice.{1,4}8/, name)

    writeFileSync(join(site, 'tools/lib/factor.ts'), 'export const factor: number = 3\n')
    const imported = `import { factor } from './lib/factor.ts'\n${documented.replace('n * 2', 'n * factor')}`
    writeFileSync(join(site, 'tools/double.ts'), imported)
    assert.equal((await daemon.cli(['reload'])).code, 0)
    assert.match(await call('double'), /twice.{1,4}12/)

    writeFileSync(join(site, 'tools/lib/factor.ts'), 'export const factor: number = 5\n')
    assert.equal((await daemon.cli(['reload'])).code, 0)
    assert.match(await call('double'), /twice.{1,4}20/, 'what a module imports is read again as well')

    writeFileSync(join(site, 'tools/double.ts'), `${documented}\nconst x: = 1\n`)
    const line = documented.split('\n').length + 1
    const checked = await runCli(['check', '--site', site])
    assert.equal(checked.code, 78)
    assert.match(checked.stderr, new RegExp(`tools/double\\.ts:${line}:10 cannot be run: Unexpected "="`))
    assert.notEqual((await daemon.cli(['reload'])).code, 0)
    assert.match(await call('double'), /twice.{1,4}20/, 'the last good one stays in use')
  })

  it('and the other examples of the manual, copied as they are, are told as what they are', async (t) => {
    const site = join(temporaryFolder(t), 'site')
    assert.equal((await runCli(['init', site, '--template', 'trading'])).code, 0)
    for (const folder of ['tools', 'config/tools']) mkdirSync(join(site, folder), { recursive: true })
    const files = ['config/tools/weather.yaml', 'config/sources.yaml', 'config/tools/stock.yaml']
    for (const file of [...files, 'config/tools/wiki.yaml'])
      writeFileSync(join(site, file), block(`# ${file}`))
    writeFileSync(join(site, 'tools/double.ts'), documented)
    const plain = await runCli(['check', '--site', site])
    assert.equal(plain.code, 0, plain.stderr)
    const missing = [
      /weather\.yaml:15:24 headers\.X-Key_file: there is no \S+\/weather-key on this machine/,
      /sources\.yaml:9:20 sources\.warehouse\.password_file: there is no \S+\/warehouse-password on/,
      /wiki\.yaml:6:32 headers\.Authorization_file: there is no \S+\/wiki-authorization on/,
      /double\.ts:5:13 no profile in config\/tools\.yaml names "double"/,
    ]
    for (const one of missing) assert.match(plain.stdout + plain.stderr, one)
    const tried = await runCli(['check', '--site', site, '--tools'])
    assert.equal(tried.code, 78)
    const told = [
      /weather\.yaml:15:\d+ headers\.X-Key_file: .*weather-key cannot be read \(ENOENT\)/,
      /stock\.yaml:10:\d+ sql: could not be tried in warehouse: /,
      /wiki\.yaml:6:32 headers\.Authorization_file: .*wiki-authorization cannot be read \(ENOENT\)/,
    ]
    for (const one of told) assert.match(tried.stderr, one)
    assert.match(tried.stderr, /has 3 faults/, 'and the module works')
    const doctor = await runCli(['doctor', '--site', site, '--state', join(site, '../state')])
    for (const one of told) assert.match(doctor.stdout, one)
  })

  it('works with documents as the manual prints it', async (t) => {
    const { daemon } = await siteWith(t, { 'urgent.ts': block('// tools/urgent.ts') }, ['make_urgent'])
    const call = await callerOf(daemon)
    const created = await call('create_document', { doctype: 'Task', data: { subject: 'Call them' } })
    const task = /TASK-\d+/.exec(created)![0]
    assert.match(await call('make_urgent', { task }), /Medium|Low/)
    assert.match(await call('get_document', { doctype: 'Task', name: task }), /priority.{1,6}High/)
    assert.match(await call('make_urgent', { task: 'TASK-none' }), /there is no Task/)
  })

  it('ended the service by one forgotten await; now log, /readyz, status and doctor tell file and line', async (t) => {
    const own = documented.replace("'double'", "'own'").replace('=> ({ for', '=> (n === 0 && note(), { for')
    const { daemon } = await siteWith(
      t,
      { 'double.ts': documented, 'own.ts': `${own}\nasync function note() { throw new Error('boom') }\n` },
      ['own', 'double'],
    )
    const call = await callerOf(daemon)
    assert.match(await call('own'), /twice.{1,4}8/)
    const line = own.split('\n').length + 1
    const place = `tools/own.ts:${line}:31`
    assert.match(await call('own', { n: 0 }), new RegExp(`the module of this tool failed at ${place}`))
    assert.match(await call('double'), /twice.{1,4}8/, 'the service goes on')
    const ready = await fetch(`${daemon.url}/readyz`)
    assert.equal(ready.status, 200)
    const { status, checks } = (await ready.json()) as {
      status: string
      checks: { name: string; detail: string }[]
    }
    assert.equal(status, 'degraded')
    assert.match(checks.find(({ name }) => name === 'own_tools')!.detail, new RegExp(`${place} \\(own\\)`))
    assert.match((await daemon.cli(['status'])).stdout, new RegExp(`own tool: ${place} boom`))
    assert.match((await daemon.cli(['doctor'])).stdout, new RegExp(`${place} boom`))
    assert.match(daemon.output().stdout, new RegExp(`"place":"${place}".*"boom"`))
    // A saved file whose timer throws was the end of a running service as well.
    writeFileSync(
      join(daemon.site, 'tools/own.ts'),
      `${own}\nsetTimeout(() => { throw new Error('late') }, 0)\nasync function note() {}\n`,
    )
    const reloaded = await daemon.cli(['reload'])
    assert.notEqual(reloaded.code, 0)
    assert.match(reloaded.stderr, new RegExp(`tools/own.ts:${line}:26 cannot be run: late`))
    assert.match(await call('double'), /twice.{1,4}8/)
    // As was a restart, though profiles name its tool.
    assert.equal(await daemon.stop(), 0)
    const again = await startDaemon(t, { site: daemon.site, state: daemon.state })
    const callAgain = await callerOf(again)
    assert.match(await callAgain('double'), /twice.{1,4}8/)
    assert.match(await callAgain('own'), /unknown tool/)
    const { stdout } = await again.cli(['status'])
    assert.match(stdout, new RegExp(`own tool: tools/own\\.ts:${line}:26 late`))
    assert.match(stdout, new RegExp(`site warning: tools/own\\.ts:${line}:26 cannot be run: late`))
  })
})

/** A running daemon of the trading company whose sales people are offered a tool of these modules. */
async function siteWith(t: TestContext, modules: Record<string, string>, offered: readonly string[]) {
  const site = join(temporaryFolder(t), 'site')
  assert.equal((await runCli(['init', site, '--template', 'trading'])).code, 0)
  mkdirSync(join(site, 'tools'), { recursive: true })
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(site, 'tools', name), text)
  const tools = join(site, 'config/tools.yaml')
  const lines = offered.map((name) => `\n$1- ${name}`).join('')
  writeFileSync(tools, readFileSync(tools, 'utf8').replace(/^( *)- list_documents$/m, `$&${lines}`))
  return { site, daemon: await startDaemon(t, { site }) }
}

async function callerOf(daemon: RunningDaemon): Promise<(tool: string, args?: unknown) => Promise<string>> {
  const token = await tokenOf(daemon, 'sales@example.com')
  return (name, args = { n: 4 }) => textOfCall(daemon, token, name, args)
}
