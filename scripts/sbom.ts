/**
 * Writes `sbom.cdx.json`: what the package depends on at run time, on whatever platform, with versions, licences and
 * hashes (CycloneDX 1.5), as the lock file has it. Runs before every `npm pack`, so the package brings its own.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

interface Bom {
  metadata: { component: { name: string; 'bom-ref': string } }
  components: { 'bom-ref': string; name: string; version: string }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

interface Lock {
  readonly name: string
  readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>>
}

const root = resolve(import.meta.dirname, '..')
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
// What is bundled is in the package too; the bundle names it in its notice.
const editor = readFileSync(join(root, 'dist/pages/views/prompt-editor.mjs'), 'utf8')
const bundled = [...editor.matchAll(/^(\S+@\S+) Copyright /gm)].map(([, name]) => name!)
const atRunTime = new Set([
  ...bundled,
  ...Object.entries(lock.packages)
    .filter(([, { dev }]) => dev !== true)
    .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`),
])
// With --omit=dev npm leaves out what development packages need as well, so the omitting is done here.
const text = execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 100_000_000,
  stdio: ['ignore', 'pipe', 'ignore'],
})
const bom = JSON.parse(text) as Bom
const { component } = bom.metadata
// npm takes the name of the folder for that of the package.
component.name = lock.name
bom.components = bom.components.filter(({ name, version }) => atRunTime.has(`${name}@${version}`))
const kept = new Set([component['bom-ref'], ...bom.components.map((one) => one['bom-ref'])])
bom.dependencies = bom.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }))
writeFileSync(join(root, 'sbom.cdx.json'), `${JSON.stringify(bom, null, 1)}\n`)
