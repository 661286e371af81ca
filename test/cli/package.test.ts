/** The package as a stranger gets it: packed, installed without development packages and install scripts, and run. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it } from 'node:test'
import { version } from '../../src/core/version.ts'
import { projectRoot, temporaryFolder } from '../helpers/daemon.ts'

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
      await run(program, ['init', 'site'], folder)
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

function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, maxBuffer: 1 << 24 }, (error, stdout, stderr) =>
      error
        ? reject(new Error(`${program} ${args.join(' ')}: ${stderr}`, { cause: error }))
        : resolve(stdout),
    )
  })
}
