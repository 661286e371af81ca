/** What a start loads: it is most of what a command costs, and much of what an idle daemon keeps. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { describe, it, type TestContext } from 'node:test'
import { temporaryFolder } from '../helpers/daemon.ts'
import { folders } from './running-service.ts'

const dist = resolve(import.meta.dirname, '../../dist')
const program = resolve(import.meta.dirname, '../../bin/assistant-core')

/** Returns which of Node's own modules and of those in CommonJS a program of the project's modules loads. */
function builtInsOf(...modules: readonly string[]): string {
  const imports = modules.map((name) => `await import(${JSON.stringify(join(dist, name))})`)
  const script = `${imports.join('\n')}\nconst { createRequire } = await import('node:module')
const required = Object.keys(createRequire(${JSON.stringify(program)}).cache)
process.stdout.write([...process.moduleLoadList, ...required].join('\\n'))`
  return execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
}

/** Returns the project's files that a command loads as modules, by their paths in `dist/`. */
function filesOf(words: readonly string[], timeout: number): readonly string[] {
  const env = { ...process.env, NODE_DEBUG: 'esm' }
  const { stderr } = spawnSync(process.execPath, [program, ...words], {
    env,
    encoding: 'utf8',
    timeout,
    maxBuffer: 1 << 26,
  })
  const found = [...stderr.matchAll(/Storing file:\/\/(\S+)/g)].map(([, file]) => file!)
  return [...new Set(found)]
    .filter((file) => file.startsWith(`${dist}/`))
    .map((file) => file.slice(dist.length + 1))
}

/** Runs a program of one line from a copy of the launcher; returns where it keeps what V8 compiled of it, made by `prepare`. */
function keptAfter(t: TestContext, prepare: (kept: string) => void): string {
  const copy = join(temporaryFolder(t), 'bin/assistant-core')
  cpSync(program, copy, { recursive: true })
  const bundle = join(dirname(copy), '../dist/bundle')
  mkdirSync(bundle, { recursive: true })
  writeFileSync(join(bundle, 'package.json'), '{"type":"module"}')
  writeFileSync(join(bundle, 'main.js'), "export const main = () => process.stdout.write('done')")
  const kept = join(bundle, '.compiled')
  prepare(kept)
  const { stdout, stderr } = spawnSync(process.execPath, [copy, 'status'], { encoding: 'utf8' })
  assert.deepEqual([stdout, stderr], ['done', ''])
  return kept
}

describe('a start', () => {
  it('of a command keeps what V8 compiled of it, where nobody else can write', (t) => {
    const keeps = 'enableCompileCache' in module
    assert.equal(readdirSync(keptAfter(t, () => undefined)).length, keeps ? 1 : 0)
    assert.equal(readdirSync(keptAfter(t, (kept) => mkdirSync(kept, { mode: 0o700 }))).length, keeps ? 1 : 0)
  })

  it('of a command reads nothing that others may have written beside it', (t) => {
    const shared = keptAfter(t, (kept) => {
      mkdirSync(kept)
      chmodSync(kept, 0o720)
    })
    assert.deepEqual(readdirSync(shared), [])
    const elsewhere = temporaryFolder(t)
    keptAfter(t, (kept) => symlinkSync(elsewhere, kept))
    assert.deepEqual(readdirSync(elsewhere), [])
  })

  it('of a command that says nothing loads no compiler of schemas', (t) => {
    const { site, state } = folders(t)
    const env = { ...process.env, NODE_DEBUG: 'module' }
    const words = ['--site', site, '--state', state]
    const told = (...command: readonly string[]): string =>
      spawnSync(process.execPath, [program, ...command, ...words], {
        env,
        encoding: 'utf8',
        maxBuffer: 1 << 26,
      }).stderr
    mkdirSync(state, { mode: 0o700 })
    assert.doesNotMatch(told('clients', 'list'), /REQUEST ajv/)
    assert.match(told('tokens', 'list'), /REQUEST ajv/)
  })

  it('of a command loads parts of one bundle, and few of them where it needs few', (t) => {
    const { site, state } = folders(t)
    mkdirSync(state, { mode: 0o700 })
    const loaded = filesOf(['tokens', 'list', '--site', site, '--state', state], 60_000)
    assert.deepEqual(
      loaded.filter((file) => !file.startsWith('bundle/')),
      [],
    )
    assert.ok(loaded.length > 10 && loaded.length < 100, `${loaded.length} files`)
  })

  it('of a daemon loads no bundle: a part that it loads late may be one of another version by then', (t) => {
    const { site, state } = folders(t)
    const loaded = filesOf(['serve', '--port', '0', '--site', site, '--state', state], 5000)
    assert.ok(loaded.includes('daemon.js'))
    assert.deepEqual(
      loaded.filter((file) => file.startsWith('bundle/')),
      [],
    )
  })

  it("does not load Node's fetch, which ten megabytes of an idle daemon were kept for", () => {
    const parts = ['foundation', 'house', 'client-door', 'oauth-door', 'sign-in-door', 'mcp-door', 'doors']
    const loaded = builtInsOf('cli/main.js', 'daemon.js', ...parts.map((part) => `house/${part}.js`))
    assert.match(loaded, /^NativeModule http$/m)
    assert.doesNotMatch(loaded, /undici/)
    // What only some schemas need is there all the same: by then its files may be of another version.
    assert.match(loaded, /\/ajv\//)
    assert.doesNotMatch(builtInsOf('cli/main.js'), /\/ajv\//)
  })
})
