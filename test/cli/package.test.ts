/** The package as a stranger gets it: packed, installed without development packages and install scripts, and run. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it, type TestContext } from 'node:test'
import { version } from '../../src/core/version.ts'
import { Browser } from '../helpers/browser.ts'
import { projectRoot, temporaryFolder } from '../helpers/daemon.ts'
import { freePort } from '../helpers/free-port.ts'

describe('the package', () => {
  it(
    'installs without development packages and install scripts, makes a site and serves it',
    { timeout: 600_000 },
    async (t) => {
      const folder = temporaryFolder(t)
      await run('npm', ['pack', '--pack-destination', folder, '--silent'], projectRoot)
      const packed = readdirSync(folder).find((name) => name.endsWith('.tgz'))
      assert.ok(packed)
      const prefix = join(folder, 'prefix')
      const install = [
        'install',
        '--global',
        '--prefix',
        prefix,
        '--omit=dev',
        '--omit=optional',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--prefer-offline',
      ]
      try {
        await run('npm', [...install, join(folder, packed)], folder)
      } catch (error) {
        if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH/.test(String(error)))
          return t.skip('the package registry cannot be reached')
        throw error
      }
      const program = join(prefix, 'bin/assistant-core')
      assert.equal((await run(program, ['--version'], folder)).trim(), version)
      await run(program, ['init', 'site', '--template', 'trading'], folder)
      await run(program, ['check', '--site', 'site'], folder)

      const child = spawn(program, ['serve', '--site', 'site', '--port', '0'], { cwd: folder })
      t.after(() => child.kill('SIGKILL'))
      const port = await new Promise<number>((resolve, reject) => {
        child.once('exit', (code) => reject(new Error(`serve ended with ${code}`)))
        createInterface({ input: child.stdout }).on('line', (line) => {
          const entry = JSON.parse(line) as { msg?: string; port?: number }
          if (entry.msg === 'listening') resolve(entry.port!)
        })
      })
      const health = (await (await fetch(`http://localhost:${port}/healthz`)).json()) as { version: string }
      assert.equal(health.version, version)
      await tryIt(t, folder, prefix)
    },
  )

  it('has its version in one place', () => {
    const lock = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')) as {
      version: string
    }
    assert.equal(lock.version, version)
    const src = join(projectRoot, 'src')
    const repeated = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .filter((file) => readFileSync(join(src, file), 'utf8').includes(`'${version}'`))
    assert.deepEqual(repeated, [])
  })
})

/** `npx assistant-core` in an otherwise empty folder. */
async function tryIt(t: TestContext, folder: string, prefix: string): Promise<void> {
  const empty = join(folder, 'empty')
  const modules = join(prefix, 'lib/node_modules')
  // What npx puts into its cache: the package, and a link to its program.
  mkdirSync(join(modules, '.bin'))
  symlinkSync('../assistant-core/bin/assistant-core', join(modules, '.bin/assistant-core'))
  mkdirSync(empty)
  symlinkSync(modules, join(empty, 'node_modules'))
  const settings = join(modules, 'assistant-core/config/settings.yaml')
  const port = await freePort()
  // 8787 may be taken where tests run.
  writeFileSync(settings, readFileSync(settings, 'utf8').replace('port: 8787', `port: ${port}`))
  const child = spawn('npx', ['--no', 'assistant-core'], { cwd: empty, detached: true })
  t.after(() => process.kill(-child.pid!, 'SIGKILL'))
  let told = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`npx ended with ${code}: ${told}`)))
    child.stderr.on('data', (chunk: Buffer) => {
      told += chunk.toString()
      if (told.includes('the browser opens for sign-in')) resolve()
    })
  })
  const [, password] = /password +(\S+)/.exec(told) ?? []
  assert.match(told, new RegExp(`listens at http://localhost:${port}\\n`))
  assert.match(told, /claude mcp add --transport http assistant http/)
  const browser = new Browser()
  const form = await browser.open(`http://localhost:${port}/sign-in`)
  assert.ok('html' in form)
  const home = await browser.submit(form, { username: 'admin@example.com', password: password! })
  assert.ok('html' in home && home.html.includes('href="/sign-out"'))
}

function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, maxBuffer: 1 << 24 }, (error, stdout, stderr) =>
      error
        ? reject(new Error(`${program} ${args.join(' ')}: ${stderr}`, { cause: error }))
        : resolve(stdout),
    )
  })
}
