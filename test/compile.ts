/**
 * Compiles the tests for a run of many files: each would else have its every module, and those of `src/`, translated and
 * resolved by tsx in its own process, which is more work than most of the tests. They then test `dist/`, which is what runs.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const project = join(import.meta.dirname, '..')
const target = join(project, 'var/tests')

/** Where tests are. */
export const testFolders = [
  'test',
  ...readdirSync(join(project, 'packages')).map((name) => `packages/${name}/test`),
]

/** Where the compiled file of a source stands; the sources of the program are in `dist/` already. */
const compiled = (source: string): string => {
  const path = relative(project, source).replace(/\.ts$/, '.js')
  if (path.startsWith('src/')) return join(project, 'dist', path.slice('src/'.length))
  const inPackage = /^packages\/(\w+)\/src\/(.*)$/.exec(path)
  if (inPackage) return join(project, 'dist', inPackage[1]!, inPackage[2]!)
  return join(target, path)
}

/** A file keeps its place in the eyes of what it says: only its imports lead elsewhere. */
const inPlace: Plugin = {
  name: 'in place',
  setup: (compiler) => {
    compiler.onResolve({ filter: /./ }, ({ kind, path, importer, resolveDir }) => {
      if (kind === 'entry-point') return undefined
      if (path.startsWith('#')) return { path: path.replace(/\.ts$/, '.js'), external: true }
      if (!path.startsWith('.')) return { path, external: true }
      const to = relative(dirname(compiled(importer)), compiled(join(resolveDir, path)))
      return { path: to.startsWith('.') ? to : `./${to}`, external: true }
    })
    compiler.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: readFileSync(path, 'utf8')
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
        .replaceAll('import.meta.filename', JSON.stringify(path))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
    }))
  },
}

/**
 * What runs in one process: the files of a place among those whose tests leave nothing behind in it, so that what all of
 * them need is loaded and made fast once. Every other file has a process of its own.
 */
const together = [
  'packages/audit/test/',
  'packages/commands/test/',
  'packages/credentials/test/',
  'packages/figures/test/',
  'packages/jinja/test/',
  'packages/leaf/test/',
  'packages/modules/test/',
  'packages/outside/test/',
  'packages/rows/test/',
  'packages/site/test/',
  'packages/sources/test/',
  'packages/state/test/',
  'packages/telemetry/test/',
  'packages/upstream/test/',
  'test/conformance/',
  'test/core/',
  'test/documents/',
  'test/library/',
  'test/mcp/',
  'test/oauth/',
  'test/pages/',
  'test/settings/',
  'test/tools/',
  'test/users/',
]

/** Those among them that measure their process, change it, or are watched alone. */
const apart = [
  'packages/jinja/test/hostile',
  'test/documents/same-answers',
  'test/mcp/memory',
  'test/tools/own/own-tools',
  'test/tools/questions',
  'test/tools/own/sql-values',
].map((name) => `${name}.test.ts`)

/** Compiles the tests and answers what to run in the place of these files; what is `long` is not put together with others. */
export async function compileTests(
  files: readonly string[],
  long: readonly string[] = [],
): Promise<string[]> {
  await build({
    entryPoints: [...testFolders, 'scripts', 'bench'].flatMap((folder) =>
      readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /(?<!\.d)\.ts$/.test(name) && !name.includes('node_modules'))
        .map((name) => join(project, folder, name)),
    ),
    outbase: project,
    outdir: target,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    sourcemap: true,
    sourcesContent: false,
    bundle: true,
    plugins: [inPlace],
  })
  const groups = new Map<string, string[]>()
  for (const file of files) {
    const place = relative(project, file)
    const mine = apart.includes(place) || long.includes(place)
    const name = mine ? place : (together.find((start) => place.startsWith(start)) ?? place)
    groups.set(name, [...(groups.get(name) ?? []), compiled(file)])
  }
  // The longest first, so that no core waits for it at the end.
  const inOrder = [...groups].sort(([, one], [, other]) => other.length - one.length)
  return inOrder.map(([name, members]) => {
    if (members.length === 1) return members[0]!
    const group = join(target, `${name.replaceAll(/\W+/g, '-')}.test.js`)
    writeFileSync(group, members.map((file) => `import ${JSON.stringify(file)}\n`).join(''))
    return group
  })
}

/** Has `dist/` hold what the sources say. */
export function buildProgram(): void {
  execFileSync(process.execPath, [join(project, 'scripts/build.mjs')], { stdio: 'inherit' })
}

// The mutation run, in a copy of the project.
if (process.argv[1] === import.meta.filename) {
  buildProgram()
  await compileTests([])
}
