/**
 * Compiles `src/` into `dist/`, file by file, which is what runs: `npm ci` calls this, and the tests before they spawn
 * the program. Nothing is done while `dist/` is newer than every source; `npm run check` is what checks the types.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const [source, target] = [join(root, 'src'), join(root, 'dist')]
const found = readdirSync(source, { recursive: true, encoding: 'utf8' }).map((name) => join(source, name))
const files = found.filter((path) => /\.(ts|mjs|njk|css|py)$/.test(path))

/** @param {string} path */
const changed = (path) => statSync(path).mtimeMs
if (!existsSync(target) || changed(target) < Math.max(...[...found, import.meta.filename].map(changed))) {
  const fresh = `${target}.${process.pid}`
  await build({
    entryPoints: files,
    outbase: source,
    outdir: fresh,
    platform: 'node',
    target: 'node20.15',
    format: 'esm',
    sourcemap: true,
    sourcesContent: false,
    loader: { '.mjs': 'copy', '.njk': 'copy', '.css': 'copy', '.py': 'copy' },
    // Bundling is what lets imports be renamed; none is followed.
    bundle: true,
    plugins: [
      {
        name: 'imports stay',
        setup: (compiler) =>
          compiler.onResolve({ filter: /./ }, ({ kind, path }) =>
            kind === 'entry-point'
              ? undefined
              : { path: path.replace(/^(\..*)\.ts$/, '$1.js'), external: true },
          ),
      },
    ],
  })
  // Removing takes a while, renaming does not: a program that starts meanwhile must find one of the two.
  const old = `${fresh}.old`
  if (existsSync(target)) renameSync(target, old)
  renameSync(fresh, target)
  rmSync(old, { recursive: true, force: true })
}
