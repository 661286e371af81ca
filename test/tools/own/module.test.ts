/** The documented module of a site, through the real launcher, in a site that `init` made: no package.json, no restart. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { paths } from '../../../src/oauth/urls.ts'
import {
  projectRoot,
  runCli,
  startDaemon,
  temporaryFolder,
  type RunningDaemon,
} from '../../helpers/daemon.ts'
import { blocksOf } from '../../helpers/readme.ts'

const manual = readFileSync(join(projectRoot, 'config/README.md'), 'utf8')
const documented = blocksOf(manual).find(({ text }) => text.startsWith('// tools/double.ts'))!.text

describe('a module in tools/ of a site that init made', () => {
  it('is loaded as the manual prints it, whatever its ending, and a running daemon takes corrections in', async (t) => {
    const site = join(temporaryFolder(t), 'site')
    assert.equal((await runCli(['init', site])).code, 0)
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
    assert.match(checked.stderr, new RegExp(`cannot be run: double\\.ts:${line}:10 Unexpected "="`))
    assert.notEqual((await daemon.cli(['reload'])).code, 0)
    assert.match(await call('double'), /twice.{1,4}20/, 'the last good one stays in use')
  })
})

async function callerOf(daemon: RunningDaemon): Promise<(tool: string) => Promise<string>> {
  const issued = await daemon.cli(['tokens', 'issue', '--user', 'sales@example.com', '--json'])
  const { access_token: token } = JSON.parse(issued.stdout) as { access_token: string }
  return async (name) => {
    const response = await fetch(daemon.url + paths.mcp, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: { n: 4 } },
      }),
    })
    return response.text()
  }
}
