/** The bill of materials that the package brings along. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { version } from '../src/core/version.ts'
import { projectRoot } from './helpers/daemon.ts'

interface Bom {
  readonly bomFormat: string
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } }
  readonly components: readonly {
    readonly name: string
    readonly version: string
    readonly purl: string
    readonly licenses?: readonly unknown[]
    readonly hashes?: readonly unknown[]
  }[]
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>>
}

describe('the bill of materials', () => {
  it('is in the package, and names every run-time dependency of the lock file and what is bundled, with licence and hash, and no other', async () => {
    const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--silent'], {
      cwd: projectRoot,
      maxBuffer: 100_000_000,
    })
    const packed = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ files: { path: string }[] }]
    assert.ok(packed[0].files.some(({ path }) => path === 'sbom.cdx.json'))

    const bom = read<Bom>('sbom.cdx.json')
    assert.deepEqual(
      [bom.bomFormat, bom.metadata.component.name, bom.metadata.component.version],
      ['CycloneDX', 'assistant-core', version],
    )
    const locked = Object.entries(read<Lock>('package-lock.json').packages)
      .filter(([path, { dev }]) => path !== '' && !dev)
      .map(([path, entry]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${entry.version}`)
    assert.ok(packed[0].files.some(({ path }) => path === 'dist/pages/views/prompt-editor.mjs'))
    const editor = readFileSync(join(projectRoot, 'dist/pages/views/prompt-editor.mjs'), 'utf8')
    locked.push(...[...editor.matchAll(/^(\S+@\S+) Copyright /gm)].map(([, name]) => name!))
    assert.ok(locked.some((name) => name.startsWith('@codemirror/view@')))
    const named = bom.components.map((component) => `${component.name}@${component.version}`)
    assert.deepEqual([...new Set(named)].sort(), [...new Set(locked)].sort())
    const bare = bom.components.filter(({ licenses, hashes }) => !licenses?.length || !hashes?.length)
    assert.deepEqual(
      bare.map(({ purl }) => purl),
      [],
    )
  })
})

function read<T>(name: string): T {
  return JSON.parse(readFileSync(join(projectRoot, name), 'utf8')) as T
}
