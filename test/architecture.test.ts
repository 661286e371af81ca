import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

const project = resolve(import.meta.dirname, '..')
const src = join(project, 'src')

/**
 * Which folder may import which, packages with a `#`; type imports count, and `#leaf` is open to all. The table in the
 * programmer's README says the same, in words.
 */
const mayImport: Record<string, readonly string[]> = {
  '#leaf': [],
  '#jinja': [],
  '#commands': [],
  '#state': [],
  '#audit': ['#state'],
  '#site': [],
  '#sources': ['#state'],
  '#telemetry': [],
  '#rows': ['#sandbox'],
  '#figures': ['#sandbox', '#state'],
  '#outside': ['#front'],
  '#ui': ['#front', '#telemetry'],
  '#credentials': ['#audit', '#state'],
  '#front': [],
  '#sandbox': [],
  '#upstream': ['#outside'],
  '#modules': ['#site', '#sandbox'],
  core: ['#audit', '#state', '#sandbox', '#telemetry'],
  settings: ['#site', '#sources', 'core'],
  users: ['#site', '#credentials', '#ui', '#front', 'core'],
  library: ['settings', '#site', '#audit', 'users', '#jinja', '#front', '#state', 'core'],
  documents: ['settings', '#site', '#sources', '#rows', '#audit', 'users', '#sandbox', '#state', 'core'],
  analysis: ['documents', '#figures', '#sandbox', '#state', 'core'],
  tools: [
    'documents',
    'analysis',
    'library',
    '#audit',
    'users',
    'settings',
    '#site',
    '#sources',
    '#sandbox',
    '#front',
    '#telemetry',
    '#figures',
    '#modules',
    '#outside',
    '#upstream',
    'core',
  ],
  oauth: ['#ui', 'users', '#credentials', '#audit', '#front', '#outside', '#state', 'core'],
  mcp: ['tools', 'library', '#audit', '#front', '#telemetry', '#state', 'core'],
  http: ['oauth', '#ui', 'library', '#site', '#audit', '#sandbox', '#front', '#telemetry', '#state', 'core'],
  // What ties the folders together.
  house: ['*'],
  '.': ['*'],
  control: ['*'],
  pages: ['*'],
  cli: [
    '#commands',
    'control',
    'house',
    '.',
    'documents',
    'settings',
    '#site',
    '#sources',
    '#audit',
    'library',
    '#state',
    'core',
  ],
}

/** What only some places may use. */
const packages: { name: RegExp; where: (file: string) => boolean }[] = [
  {
    name: /^(koa|@koa\/router|koa-body|@koa\/cors)$/,
    where: (file) =>
      /(-endpoint|-middleware|bearer|cors)\.ts$/.test(file) ||
      /^(pages|http|#ui)\//.test(file) ||
      !file.includes('/'),
  },
  { name: /^commander$/, where: (file) => file.startsWith('#commands/') },
  { name: /^nunjucks$/, where: (file) => file.startsWith('#ui/') },
  // Decision 6: whatever pattern is compiled, it runs on the linear-time engine.
  { name: /^ajv(-formats)?(\/|$)/, where: (file) => file === '#leaf/schema.ts' },
  // What callers send is looked at by what is compiled, and by nothing before it.
  {
    name: /^#leaf\/file-schema\.ts$/,
    where: (file) =>
      /\/read-[\w-]+\.ts$|^library\/(?:prompts\/template-file|skill-files|categories)\.ts$|^settings\/sources\.ts$|^#sandbox\/settings\.ts$/.test(
        file,
      ),
  },
  {
    name: /^(@simplewebauthn\/server|otpauth)$/,
    where: (file) => file.startsWith('#credentials/'),
  },
  { name: /^re2js$/, where: (file) => file === '#leaf/pattern.ts' },
  { name: /^lowdb/, where: (file) => file.startsWith('#state/') },
  { name: /^pg$/, where: (file) => /^#state\/postgres\/|^#sources\/|^tools\/own\//.test(file) },
  {
    name: /^mysql2(\/|$)/,
    where: (file) => /^#sources\/mysql-(?:door|connection)\.ts$/.test(file),
  },
  {
    name: /^(node:)?child_process$/,
    where: (file) => /^(#commands|#sandbox|#modules|#site|#upstream)\//.test(file),
  },
]

/** Where time, chance, the environment (decision 13) and HTTP enter. */
const entrances: { name: RegExp; where: RegExp }[] = [
  // Node's HTTP: an import of it loads its fetch as well (`leaf/src/node-http.ts`).
  { name: /^import (?!type\b).*'(?:node:)?http'$/m, where: /^$/ },
  { name: /\bnew Date\(\)|\bDate\.now\(\)/, where: /^#leaf\/clock\.ts$|^cli\// },
  { name: /\bMath\.random\b|\brandom(Bytes|UUID|Int|FillSync)\b/, where: /^#leaf\/secrets\.ts$/ },
  { name: /\bprocess\.env\b/, where: /^(?:cli|#commands)\// },
]

/**
 * What a process keeps outside of what was built for one service, and why. What is worked out of an object and goes with
 * it (a WeakMap) is none of it, nor what a child or thread keeps for itself.
 */
const keptByProcess: Record<string, { names: readonly string[]; why: string }> = {
  '#audit/line.ts': { names: ['knownNames'], why: 'what a function makes of a text, for so many texts' },
  '#leaf/clock.ts': { names: ['last'], why: 'the text of the present second' },
  '#leaf/pattern.ts': { names: ['stepsLeft'], why: 'the budget of work that ends in the turn that began it' },
  '#leaf/redact.ts': { names: ['knownKeys'], why: 'what a function makes of a text, for so many texts' },
  '#leaf/secrets.ts': { names: ['ids', 'idsUsed', 'used'], why: 'chance enters once, and is used once' },
  '#state/postgres/translating/letter-cases.ts': {
    names: ['upperCases'],
    why: 'the letters of Unicode, gone through when they are first needed',
  },
  '#leaf/slices.ts': {
    names: ['isLooking', 'waiting'],
    why: 'a process has one event loop, whose turns all share',
  },
  'library/prompts/prompt-tests.ts': {
    names: ['resultsOfFiles'],
    why: 'what a text gives, for so many texts',
  },
  '#ui/page-form.ts': { names: ['readers'], why: 'a library, loaded when it is first needed' },
  '#ui/reader.ts': {
    names: ['formats'],
    why: 'one for each language, number of digits and time zone that there is',
  },
  '#modules/bundle.ts': { names: ['compiling'], why: 'the compiler is one for a process' },
  '#site/parse-source.ts': { names: ['ahead'], why: 'what bytes give, for one file' },
}

/** The errors that leave the service: one class a speaker (decision 10). */
const answered = ['AppError', 'JsonRpcError', 'OAuthError']

/** The lines that a file and a function may have, and what exceeds them today: numbers here only ever fall. */
const limits = JSON.parse(readFileSync(join(import.meta.dirname, 'architecture-limits.json'), 'utf8')) as {
  readonly linesOfFile: number
  readonly linesOfFunction: number
  readonly filesOfFolder: number
  readonly fullFolders: Record<string, number>
  readonly longer: Record<string, number>
  readonly exportedTwice: readonly string[]
}

interface Import {
  readonly from: string
  readonly to: string
}

const packageNames = readdirSync(join(project, 'packages'))
/** Where the sources of the packages are. */
const packageRoots = packageNames.map((name) => `packages/${name}/src`)

/** What other folders may import of a package: the files in the table of its README. */
const faces = new Map(
  packageNames.map((name) => {
    const readme = readFileSync(join(project, 'packages', name, 'README.md'), 'utf8')
    const rows = readme.matchAll(new RegExp(`^\\| \`#${name}/([^\`]+)\` \\|`, 'gm'))
    return [`#${name}`, [...rows].map((row) => row[1]!)] as const
  }),
)

/** Every source, by its path in `src/`, or as `#package/path`. */
const files = [
  ...typescriptIn(src),
  ...packageNames.flatMap((name) =>
    typescriptIn(join(project, 'packages', name, 'src')).map((file) => `#${name}/${file}`),
  ),
]

const imports: Import[] = files.flatMap((from) =>
  specifiersOf(readFileSync(placeOf(from), 'utf8')).map((to) => ({ from, to })),
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
        return ![source, '#leaf'].includes(target) && !allowed?.includes(target) && !allowed?.includes('*')
      })
    assert.deepEqual(wrong, [])
  })

  it('has no cycles between files, types included', () => {
    const graph = new Map(files.map((file) => [file, [] as string[]]))
    for (const { from, to } of imports) if (/^[.#]/.test(to)) graph.get(from)!.push(resolved(from, to))
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
    const rows = [...readme.matchAll(/^\| `(#?[a-z-]+)` +\| [^|]+ \| ([^|]+) \|$/gm)]
    const told = Object.fromEntries(rows.map(([, folder, may]) => [folder, namesIn(may!)]))
    const { '.': root, ...folders } = mayImport
    assert.deepEqual(root, ['*'])
    assert.deepEqual(
      told,
      Object.fromEntries(Object.entries(folders).map(([folder, may]) => [folder, may.toSorted()])),
    )
  })

  it('answers errors of three classes, and catches every other one by its name', () => {
    const code = files.filter((file) => !file.startsWith('#jinja/')).map((file) => codeOf(placeOf(file)))
    const classes = code.flatMap((text) => [...text.matchAll(/^(?:export )?class (\w+) extends Error\b/gm)])
    const names = classes.map(([, name]) => name!)
    assert.ok(answered.every((name) => names.includes(name)))
    const caught = (name: string): boolean => code.some((text) => text.includes(`instanceof ${name}`))
    assert.deepEqual(
      names.filter((name) => !answered.includes(name) && !caught(name)),
      [],
    )
    const told = /^10\. Three error classes.*$/m.exec(readFileSync(join(src, 'README.md'), 'utf8'))?.[0] ?? ''
    const named = [...told.matchAll(/`(\w+Error)`/g)].map(([, name]) => name)
    assert.deepEqual(new Set(named), new Set(answered))
  })

  it('lets time, chance, the environment and HTTP in at one place each', () => {
    const wrong = files.filter(
      (file) =>
        !file.startsWith('#jinja/') &&
        entrances.some(({ name, where }) => !where.test(file) && name.test(codeOf(placeOf(file)))),
    )
    assert.deepEqual(wrong, [])
  })

  it('keeps nothing that changes outside of what is built, but for what is named here with its reason', () => {
    const found = files
      .filter((file) => !/-(child|thread)\.ts$|^#jinja\//.test(file))
      .map((file) => [file, changingIn(codeOf(placeOf(file)))] as const)
      .filter(([, names]) => names.length > 0)
    assert.deepEqual(
      Object.fromEntries(found),
      Object.fromEntries(Object.entries(keptByProcess).map(([file, { names }]) => [file, names])),
    )
  })

  it('sees what changes at the top of a file, however it is written', () => {
    const code = [
      'let one = 0',
      'export let two: string | undefined',
      'const map = new Map<string, number>()',
      'const known: ReadonlyMap<string, number> = new Map([["a", 1]])',
      'const list: string[] = []',
      'const object: Record<string, string> = {}',
      'const weak = new WeakMap<object, number>()',
      'function f() { let inner = 0; const own = new Map(); own.set(1, inner); weak.set({}, 1) }',
      'map.set("a", known.get("a")); list.push("a"); object["a"] = "b"',
    ].join('\n')
    assert.deepEqual(changingIn(code), ['list', 'map', 'object', 'one', 'two'])
  })

  it('has no file and no function that is too long, but for those that are listed, which only shrink', async () => {
    const { longer } = limits
    const found = await tooLong()
    const worse = [...found].filter(([place, lines]) => lines > (longer[place] ?? 0))
    assert.deepEqual(worse, [], 'longer than test/architecture-limits.json allows')
    const mended = Object.keys(longer).filter((place) => !found.has(place))
    assert.deepEqual(mended, [], 'not too long any more: take them out of test/architecture-limits.json')
  })

  it('has no folder of too many files, but for those that are listed, which only shrink', () => {
    const counts = new Map<string, number>()
    for (const file of files) counts.set(posix.dirname(file), (counts.get(posix.dirname(file)) ?? 0) + 1)
    const found = [...counts].filter(([, files]) => files > limits.filesOfFolder)
    assert.deepEqual(Object.fromEntries(found), limits.fullFolders, 'give it rooms')
  })

  it('exports no name from two files, but for those that are listed, which become fewer', () => {
    const twice = exportedTwice()
    const known = new Set(limits.exportedTwice)
    const added = [...twice].filter(([name]) => !known.has(name))
    assert.deepEqual(added, [], 'a stranger could not tell which is meant: rename one')
    const mended = [...known].filter((name) => !twice.has(name))
    assert.deepEqual(mended, [], 'exported once only: take them out of test/architecture-limits.json')
  })

  it('keeps each package to itself: its files lead nowhere else but by name', () => {
    assert.ok(packageNames.length > 4)
    const leaving = imports.filter(
      ({ from, to }) => from.startsWith('#') && to.startsWith('.') && resolved(from, to).startsWith('..'),
    )
    assert.deepEqual(leaving, [])
  })

  it('meets a package at its face: the files that its README names, five at most', () => {
    for (const [name, face] of faces) {
      if (name === '#leaf') continue
      assert.ok(face.length > 0 && face.length <= 5, `${name} shows ${face.join(', ')}`)
      const wrong = imports.filter(
        ({ from, to }) =>
          folderOf(from) !== name && to.startsWith(`${name}/`) && !face.includes(to.slice(name.length + 1)),
      )
      assert.deepEqual(wrong, [])
      const unused = face.filter((file) => !imports.some(({ to }) => to === `${name}/${file}`))
      assert.deepEqual(unused, [], `of ${name} nobody imports these`)
    }
  })

  it('has no default exports and no junk drawers', () => {
    assert.deepEqual(
      files.filter((file) => /(^|\/)(utils?|helpers?|common|shared|types)(\/|\.ts$)/.test(file)),
      [],
    )
    assert.deepEqual(
      files.filter((file) => /^export default /m.test(readFileSync(placeOf(file), 'utf8'))),
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
  return readFileSync(file, 'utf8').replaceAll(/(?<=^|\s)\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')
}

/** Names at the top of a file whose value changes, or that hold what changes. */
function changingIn(code: string): string[] {
  const kept = /^(?:export )?(let|var|const) (\w+)\b(.*)$/gm
  return [...code.matchAll(kept)]
    .filter(([, kind, name, rest]) => {
      if (kind !== 'const') return true
      const change = `(?<![\\w.#])${name}(?:\\.(?:set|add|delete|clear|push|pop|shift|unshift|splice)\\(`
      const assigned = '(?:\\.\\w+|\\[[^\\]]+\\]) (?:\\?\\?)?=(?!=))'
      return / = (new (Map|Set)\b|\[\]|\{\})/.test(rest!) && new RegExp(`${change}|${assigned}`).test(code)
    })
    .map(([, , name]) => name!)
    .sort()
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

/** The file that an import leads to, in the names of `files`. */
function resolved(from: string, to: string): string {
  return to.startsWith('#') ? to : posix.normalize(posix.join(posix.dirname(from), to))
}

/** Where a source lies on the disk. */
function placeOf(file: string): string {
  return file.startsWith('#') ? join(project, file.replace(/^#(\w+)\//, 'packages/$1/src/')) : join(src, file)
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
