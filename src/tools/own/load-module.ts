import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildFailure, Plugin } from 'esbuild'
import { AppError } from '../../core/errors.ts'

/** How many modules are being compiled; the compiler's process ends with the last. */
let compiling = 0

/**
 * Runs a module of the site as it is on disk now, with what it imports of the site: TypeScript or JavaScript, with or
 * without a `package.json` beside it. The text decides whether it runs again, so corrections count in a running daemon.
 */
export async function loadModule(file: string): Promise<unknown> {
  // Few sites have modules, and a compiler is large.
  const { build, stop } = await import('esbuild')
  compiling++
  const here = { url: pathToFileURL(file).href, folder: dirname(file) }
  try {
    const { outputFiles } = await build({
      entryPoints: [file],
      absWorkingDir: here.folder,
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'node',
      target: 'node20.15',
      logLevel: 'silent',
      // The site's own compiler settings are for its editor.
      tsconfigRaw: '{}',
      define: {
        'import.meta.url': JSON.stringify(here.url),
        'import.meta.filename': JSON.stringify(file),
        'import.meta.dirname': JSON.stringify(here.folder),
      },
      plugins: [packagesStay],
    })
    const text = outputFiles[0]!.contents
    return await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`)
  } catch (error) {
    throw isBuildFailure(error) ? new AppError('invalid', faultsText(error)) : error
  } finally {
    if (--compiling === 0) await stop()
  }
}

/** Packages are found from where they are imported, and stay outside of the text. */
const packagesStay: Plugin = {
  name: 'packages stay',
  setup: (compiler) =>
    compiler.onResolve({ filter: /^[^./]/ }, async ({ kind, path, resolveDir, pluginData }) => {
      if (kind === 'entry-point' || pluginData === packagesStay) return undefined
      const found = await compiler.resolve(path, { kind, resolveDir, pluginData: packagesStay })
      if (found.external || found.errors.length > 0) return found
      return { external: true, path: pathToFileURL(found.path).href }
    }),
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors)
}

function faultsText({ errors }: BuildFailure): string {
  return errors
    .map(({ text, location }) =>
      location === null ? text : `${location.file}:${location.line}:${location.column + 1} ${text}`,
    )
    .join('; ')
}
