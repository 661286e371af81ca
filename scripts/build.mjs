/**
 * Compiles `src/` into `dist/` and the packages into folders there, file by file, and all again as a bundle for commands: `npm ci` calls
 * this, and the tests before they spawn the program. Nothing is done while `dist/` is newer than every source;
 * `npm run check` is what checks the types.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const target = join(root, 'dist')
/** What is compiled, by where in `dist/` it goes: each package in a folder of its name. */
const sources = Object.fromEntries([
  ['.', join(root, 'src')],
  ...readdirSync(join(root, 'packages')).map((name) => [name, join(root, 'packages', name, 'src')]),
])
const found = Object.values(sources).flatMap((source) =>
  readdirSync(source, { recursive: true, encoding: 'utf8' }).map((name) => join(source, name)),
)

/** The one file of the pages that is bundled; the packages that it is made of are for development alone. */
const editor = 'pages/views/prompt-editor.mjs'

/**
 * Bundles the editor of prompts for browsers, with the licences of what is in it. Where its packages are missing, as after
 * `npm ci --omit=dev`, there is no editor, and the page has its text area.
 * @param {string} file
 */
async function bundleEditor(file) {
  rmSync(file)
  if (!existsSync(join(root, 'node_modules/@codemirror/view'))) {
    process.stderr.write('the editor of prompts is left out: its packages are not installed\n')
    return
  }
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, 'src', editor)],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    metafile: true,
    plugins: [
      {
        name: 'prompts are no HTML',
        setup: (compiler) => {
          compiler.onResolve({ filter: /^@codemirror\/lang-html$/ }, ({ resolveDir }) => ({
            path: 'plain',
            namespace: 'plain',
            pluginData: resolveDir,
          }))
          compiler.onLoad({ filter: /./, namespace: 'plain' }, ({ pluginData }) => ({
            resolveDir: pluginData,
            contents: `import { defineLanguageFacet, Language, LanguageSupport } from '@codemirror/language'
import { NodeType, Parser, Tree } from '@lezer/common'
const type = NodeType.define({ id: 0, name: 'Text', top: true })
class Plain extends Parser {
  createParse(input, fragments, ranges) {
    const { to } = ranges.at(-1)
    return { parsedPos: to, stoppedAt: null, stopAt() {}, advance: () => new Tree(type, [], [], to - ranges[0].from) }
  }
}
const plain = new LanguageSupport(new Language(defineLanguageFacet(), new Plain()))
export const html = () => plain`,
          }))
        },
      },
    ],
  })
  writeFileSync(file, `${outputFiles[0].text}${noticesOf(metafile)}`)
}

/**
 * Returns the licences of the packages that are in a bundle, as a comment.
 * @param {import('esbuild').Metafile} metafile
 */
function noticesOf(metafile) {
  const names = Object.keys(metafile.inputs).flatMap(
    (path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  )
  /** @type {Map<string, string[]>} */
  const licences = new Map()
  for (const name of new Set(names)) {
    const folder = join(root, 'node_modules', name)
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const place = readdirSync(folder).find((one) => /^licen[cs]e(?:\.|$)/i.test(one)) ?? 'LICENSE'
    const licence = readFileSync(join(folder, place), 'utf8')
    const copyright = /^Copyright .*$/m.exec(licence)?.[0] ?? ''
    // Most differ in nothing else.
    const text = licence.replace(copyright, '').replaceAll(/\s+/g, ' ').trim()
    licences.set(text, [...(licences.get(text) ?? []), `${name}@${version} ${copyright}`])
  }
  const notices = [...licences].map(([text, of]) => `${of.join('\n')}\n\n${text}\n`)
  return `/*\n${notices.join('\n')}*/\n`
}

/** The packages that the bundle of commands holds: plain JavaScript in many files. */
const held = /^(?:chokidar|commander|jose|lowdb|pino|yaml)(?:\/|$)/

/**
 * Bundles what runs one command and ends: loading a file for each module is most of what a command costs. The daemon is not
 * bundled, which may load a part late: by then its files may be those of another version.
 * @param {string} folder
 */
async function bundleCommands(folder) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, 'src/cli/main.ts')],
    outdir: folder,
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    metafile: true,
    // Packages that are CommonJS ask for Node's own modules.
    banner: { js: 'const require = (name) => process.getBuiltinModule(name)' },
    plugins: [
      {
        name: 'packages stay, and modules know where their files are',
        setup: (compiler) => {
          compiler.onResolve({ filter: /^[^.#/]/ }, ({ kind, path, importer }) =>
            kind === 'entry-point' || held.test(path) || importer.includes('node_modules')
              ? undefined
              : { path, external: true },
          )
          compiler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
            const [place, source] =
              Object.entries(sources).findLast(([, one]) => path.startsWith(`${one}/`)) ?? []
            if (source === undefined) return undefined
            const file = join('..', place ?? '', path.slice(source.length).replace(/\.ts$/, '.js'))
            const contents = readFileSync(path, 'utf8')
              .replaceAll(
                /(?<!')\bimport\.meta\.dirname\b/g,
                `(import.meta.dirname + ${JSON.stringify(`/${dirname(file)}`)})`,
              )
              .replaceAll(
                /(?<!')\bimport\.meta\.url\b/g,
                `new URL(${JSON.stringify(file)}, import.meta.url).href`,
              )
            return { contents, loader: 'ts' }
          })
        },
      },
    ],
  })
  writeFileSync(join(folder, 'LICENSES'), noticesOf(metafile))
}

/** @param {string} path */
const changed = (path) => statSync(path).mtimeMs
if (!existsSync(target) || changed(target) < Math.max(...[...found, import.meta.filename].map(changed))) {
  const fresh = `${target}.${process.pid}`
  for (const [place, source] of Object.entries(sources))
    await build({
      entryPoints: found.filter(
        (path) => path.startsWith(source) && /\.(ts|mjs|njk|yaml|css|svg|png|py)$/.test(path),
      ),
      outbase: source,
      outdir: join(fresh, place),
      platform: 'node',
      target: 'node20.19',
      format: 'esm',
      sourcemap: true,
      sourcesContent: false,
      loader: {
        '.d.ts': 'copy',
        '.mjs': 'copy',
        '.njk': 'copy',
        '.yaml': 'copy',
        '.css': 'copy',
        '.svg': 'copy',
        '.png': 'copy',
        '.py': 'copy',
      },
      // Bundling is what lets imports be renamed; none is followed.
      bundle: true,
      plugins: [
        {
          name: 'imports stay',
          setup: (compiler) =>
            compiler.onResolve({ filter: /./ }, ({ kind, path }) =>
              kind === 'entry-point'
                ? undefined
                : { path: path.replace(/^([.#].*)\.ts$/, '$1.js'), external: true },
            ),
        },
      ],
    })
  await bundleEditor(join(fresh, editor))
  await bundleCommands(join(fresh, 'bundle'))
  // Removing takes a while, renaming does not: a program that starts meanwhile must find one of the two.
  const old = `${fresh}.old`
  if (existsSync(target)) renameSync(target, old)
  renameSync(fresh, target)
  rmSync(old, { recursive: true, force: true })
  // The files in config/ name their schemas there, as those of every site do.
  const { writeSchemas } = await import('../dist/house/new-site.js')
  writeSchemas(root)
}
