import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, it } from 'node:test'

const src = resolve(import.meta.dirname, '../src')

/** Which folder may import which; type imports count. The programmer's README explains it. */
const mayImport: Record<string, readonly string[]> = {
  core: [],
  store: ['core'],
  site: ['core'],
  audit: ['store', 'core'],
  users: ['site', 'store', 'audit', 'core'],
  jinja: ['core'],
  library: ['site', 'store', 'audit', 'users', 'jinja', 'core'],
  documents: ['site', 'store', 'audit', 'users', 'core'],
  analysis: ['documents', 'core'],
  tools: ['documents', 'analysis', 'library', 'audit', 'users', 'site', 'core'],
  oauth: ['users', 'audit', 'store', 'core'],
  mcp: ['tools', 'library', 'audit', 'core'],
  pages: ['oauth', 'users', 'library', 'audit', 'core'],
  http: ['analysis', 'oauth', 'library', 'site', 'store', 'audit', 'core'],
  // What ties the folders together.
  build: ['*'],
  '.': ['*'],
  control: ['*'],
  cli: ['control', 'build', '.', 'site', 'core', 'audit', 'store', 'library'],
}

/** What only some places may use. */
const packages: { name: RegExp; where: (file: string) => boolean }[] = [
  {
    name: /^(koa|@koa\/router|koa-body|@koa\/cors)$/,
    where: (file) =>
      /(-endpoint|-middleware|bearer|cors)\.ts$/.test(file) ||
      /^(pages|http)\//.test(file) ||
      !file.includes('/'),
  },
  { name: /^commander$/, where: (file) => file.startsWith('cli/') },
  { name: /^nunjucks$/, where: (file) => file.startsWith('pages/') },
  { name: /^lowdb/, where: (file) => file.startsWith('store/') },
  { name: /^(node:)?child_process$/, where: (file) => /^(analysis|site|cli|tools|mcp|core)\//.test(file) },
]

interface Import {
  readonly from: string
  readonly to: string
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'))

const imports: Import[] = files.flatMap((from) =>
  specifiersOf(readFileSync(join(src, from), 'utf8')).map((to) => ({ from, to })),
)

describe('the architecture', () => {
  it('has files and imports to look at', () => {
    assert.ok(files.length > 20)
    assert.ok(imports.length > 50)
  })

  it('lets a folder import only what stands below it', () => {
    const wrong = imports
      .filter(({ to }) => to.startsWith('.'))
      .filter(({ from, to }) => {
        const [source, target] = [folderOf(from), folderOf(resolved(from, to))]
        const allowed = mayImport[source]
        return source !== target && !allowed?.includes(target) && !allowed?.includes('*')
      })
    assert.deepEqual(wrong, [])
  })

  it('has no cycles between files, types included', () => {
    const graph = new Map(files.map((file) => [file, [] as string[]]))
    for (const { from, to } of imports) if (to.startsWith('.')) graph.get(from)!.push(resolved(from, to))
    assert.deepEqual(cycleIn(graph), undefined)
  })

  it('keeps Koa at the edge, commander in the command line, and each driver in its folder', () => {
    const wrong = imports.filter(({ from, to }) =>
      packages.some(({ name, where }) => name.test(to) && !where(from)),
    )
    assert.deepEqual(wrong, [])
  })

  it('keeps the two protocols apart: oauth and mcp never import each other', () => {
    const crossing = imports.filter(
      ({ from, to }) =>
        to.startsWith('.') && [folderOf(from), folderOf(resolved(from, to))].sort().join() === 'mcp,oauth',
    )
    assert.deepEqual(crossing, [])
  })

  it('has no default exports and no junk drawers', () => {
    assert.deepEqual(
      files.filter((file) => /(^|\/)(utils?|helpers?|common|shared|types)(\/|\.ts$)/.test(file)),
      [],
    )
    assert.deepEqual(
      files.filter((file) => /^export default /m.test(readFileSync(join(src, file), 'utf8'))),
      [],
    )
  })
})

function specifiersOf(source: string): string[] {
  const statement =
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s+['"]([^'"]+)['"]|^\s*import\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm
  return [...source.matchAll(statement)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

function resolved(from: string, to: string): string {
  return relative(src, resolve(src, dirname(from), to)).replaceAll('\\', '/')
}

function folderOf(file: string): string {
  return file.includes('/') ? file.split('/')[0]! : '.'
}

function cycleIn(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>()
  const visit = (file: string, trail: string[]): string[] | undefined => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file]
    if (done.has(file)) return undefined
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next, [...trail, file])
      if (cycle) return cycle
    }
    done.add(file)
    return undefined
  }
  for (const file of graph.keys()) {
    const cycle = visit(file, [])
    if (cycle) return cycle
  }
  return undefined
}
