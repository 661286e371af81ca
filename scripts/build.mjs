/**
 * Compiles `src/` into `dist/` and the packages into folders there, file by file, which is what runs: `npm ci` calls
 * this, and the tests before they spawn the program. Nothing is done while `dist/` is newer than every source;
 * `npm run check` is what checks the types.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const target = join(root, 'dist')
/** What is compiled, by where in `dist/` it goes. */
const sources = { '.': join(root, 'src'), jinja: join(root, 'packages/jinja/src') }
const found = Object.values(sources).flatMap((source) =>
  readdirSync(source, { recursive: true, encoding: 'utf8' }).map((name) => join(source, name)),
)

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
      target: 'node20.15',
      format: 'esm',
      sourcemap: true,
      sourcesContent: false,
      loader: {
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
  // Removing takes a while, renaming does not: a program that starts meanwhile must find one of the two.
  const old = `${fresh}.old`
  if (existsSync(target)) renameSync(target, old)
  renameSync(fresh, target)
  rmSync(old, { recursive: true, force: true })
  // The files in config/ name their schemas there, as those of every site do.
  const { writeSchemas } = await import('../dist/cli/schema.js')
  await writeSchemas(root)
}
