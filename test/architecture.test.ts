import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

const project = resolve(import.meta.dirname, '..')
const src = join(project, 'src')

/** Which folder may import which; type imports count. The table in the programmer's README says the same, in words. */
const mayImport: Record<string, readonly string[]> = {
  core: [],
  'line-log': ['core'],
  store: ['line-log', 'core'],
  site: ['core'],
  audit: ['store', 'line-log', 'core'],
  users: ['site', 'store', 'audit', 'core'],
  library: ['site', 'store', 'audit', 'users', '#jinja', 'core'],
  documents: ['site', 'store', 'audit', 'users', 'core'],
  analysis: ['documents', 'core'],
  tools: ['documents', 'analysis', 'library', 'audit', 'users', 'site', 'core'],
  oauth: ['users', 'audit', 'store', 'core'],
  mcp: ['tools', 'library', 'audit', 'store', 'core'],
  http: ['analysis', 'oauth', 'library', 'site', 'store', 'audit', 'core'],
  // What ties the folders together.
  build: ['*'],
  '.': ['*'],
  control: ['*'],
  pages: ['*'],
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
  { name: /^(node:)?child_process$/, where: (file) => /^(analysis|site|cli|tools)\//.test(file) },
]

/** Where time, chance and the environment enter (decision 13). */
const entrances: { name: RegExp; where: RegExp }[] = [
  { name: /\bnew Date\(\)|\bDate\.now\(\)/, where: /^core\/clock\.ts$|^cli\// },
  { name: /\bMath\.random\b|\brandom(Bytes|UUID|Int|FillSync)\b/, where: /^core\/secrets\.ts$/ },
  { name: /\bprocess\.env\b/, where: /^cli\// },
]

/** The lines that a file and a function may have, and what exceeds them today: numbers here only ever fall. */
const limits = JSON.parse(readFileSync(join(import.meta.dirname, 'architecture-limits.json'), 'utf8')) as {
  readonly linesOfFile: number
  readonly linesOfFunction: number
  readonly longer: Record<string, number>
  readonly exportedTwice: readonly string[]
}

interface Import {
  readonly from: string
  readonly to: string
}

/** Where the sources of the packages are. */
const packageRoots = readdirSync(join(project, 'packages')).map((name) => `packages/${name}/src`)

const files = typescriptIn(src)

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
      .filter(({ to }) => /^[.#]/.test(to))
      .filter(({ from, to }) => {
        const [source, target] = [folderOf(from), folderOf(to.startsWith('#') ? to : resolved(from, to))]
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

  it('is in the programmer\u2019s README as it is enforced here', () => {
    const readme = readFileSync(join(src, 'README.md'), 'utf8')
    const rows = [...readme.matchAll(/^\| `([a-z-]+)` +\| [^|]+ \| ([^|]+) \|$/gm)]
    const told = Object.fromEntries(rows.map(([, folder, may]) => [folder, namesIn(may!)]))
    const { '.': root, ...folders } = mayImport
    assert.deepEqual(root, ['*'])
    assert.deepEqual(
      told,
      Object.fromEntries(Object.entries(folders).map(([folder, may]) => [folder, may.toSorted()])),
    )
  })

  it('lets time, chance and the environment in at one place each', () => {
    const wrong = files.filter((file) =>
      entrances.some(({ name, where }) => !where.test(file) && name.test(codeOf(join(src, file)))),
    )
    assert.deepEqual(wrong, [])
  })

  it('has no file and no function that is too long, but for those that are listed, which only shrink', async () => {
    const { longer } = limits
    const found = await tooLong()
    const worse = [...found].filter(([place, lines]) => lines > (longer[place] ?? 0))
    assert.deepEqual(worse, [], 'longer than test/architecture-limits.json allows')
    const mended = Object.keys(longer).filter((place) => !found.has(place))
    assert.deepEqual(mended, [], 'not too long any more: take them out of test/architecture-limits.json')
  })

  it('exports no name from two files, but for those that are listed, which become fewer', () => {
    const twice = exportedTwice()
    const known = new Set(limits.exportedTwice)
    const added = [...twice].filter(([name]) => !known.has(name))
    assert.deepEqual(added, [], 'a stranger could not tell which is meant: rename one')
    const mended = [...known].filter((name) => !twice.has(name))
    assert.deepEqual(mended, [], 'exported once only: take them out of test/architecture-limits.json')
  })

  it('keeps each package to itself: it imports its own files and Node', () => {
    assert.ok(packageRoots.length > 0)
    const leaving = packageRoots.flatMap((path) => {
      const root = join(project, path)
      return typescriptIn(root).flatMap((file) =>
        specifiersOf(readFileSync(join(root, file), 'utf8')).filter(
          (to) =>
            !to.startsWith('node:') && relative(root, resolve(root, dirname(file), to)).startsWith('..'),
        ),
      )
    })
    assert.deepEqual(leaving, [])
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

function typescriptIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts'))
}

function specifiersOf(source: string): string[] {
  const statement =
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s+['"]([^'"]+)['"]|^\s*import\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm
  return [...source.matchAll(statement)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

/** What a row of the table says: names of folders, `everything`, `–` for nothing. Pseudo-folders are files of the root. */
function namesIn(cell: string): string[] {
  const names = cell.split(',').map((name) => name.trim())
  if (names[0] === '–') return []
  return names.map((name) => ({ everything: '*', daemon: '.' })[name] ?? name).sort()
}

function codeOf(file: string): string {
  return readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')
}

/** Files and functions over the limits with their lines, counted by the linter, by `file` and `file function`. */
async function tooLong(): Promise<ReadonlyMap<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'limits-'))
  const config = join(folder, 'oxlintrc.json')
  const rules = {
    'max-lines': ['error', limits.linesOfFile],
    'max-lines-per-function': ['error', { max: limits.linesOfFunction }],
  }
  writeFileSync(config, JSON.stringify({ categories: { correctness: 'off' }, rules }))
  const linter = join(project, 'node_modules/oxlint/bin/oxlint')
  const run = promisify(execFile)(
    process.execPath,
    [linter, '--config', config, '--format', 'json', 'src', ...packageRoots],
    {
      cwd: project,
      maxBuffer: 2 ** 24,
    },
  )
  // It ends with 1 when it has found something, which is what it is asked for.
  const { stdout } = await run.catch((error: { stdout: string }) => error)
  rmSync(folder, { recursive: true })
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { filename: string; message: string }[] }
  return new Map(
    diagnostics.map(({ filename: path, message }) => {
      const filename = path.replace(/^src\//, '')
      const [, name] = /`([^`]+)`/.exec(message) ?? []
      return [name === undefined ? filename : `${filename} ${name}`, Number(/\((\d+)\)/.exec(message)![1])]
    }),
  )
}

/** Names that two files of `src/` export, or two of one package. */
function exportedTwice(): ReadonlyMap<string, readonly string[]> {
  const statement =
    /^export (?:abstract |async )?(?:function\*?|class|const|let|interface|type|enum) ([A-Za-z_$][\w$]*)/gm
  return new Map(
    [src, ...packageRoots].flatMap((root) => {
      const places = new Map<string, string[]>()
      for (const file of typescriptIn(resolve(project, root)))
        for (const [, name] of new Set(codeOf(resolve(project, root, file)).matchAll(statement)))
          places.set(name!, [...new Set([...(places.get(name!) ?? []), file])])
      return [...places].filter(([, where]) => where.length > 1)
    }),
  )
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
