import { SourceMap } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildFailure, Plugin } from 'esbuild'
import { type Fault, fileFault } from '#site/site-files.ts'
import { SiteFault } from '#site/checking.ts'
import { bundleName, type Thrown } from './messages.ts'

/** A module of the site as it is on disk now, with its imports from the site, in one text. */
export interface Bundle {
  /** The path, relative to the site. */
  readonly file: string
  readonly text: string
  /** Maps a line and column of the text to the site's files; undefined for code that is not the site's. */
  readonly placeOf: (line: number, column: number) => Omit<Fault, 'path' | 'message'> | undefined
}

/** The number of modules being compiled; the compiler's process ends with the last. */
let compiling = 0

/**
 * Compiles TypeScript or JavaScript, with or without a `package.json` beside it; rejects with an error that has `faults`.
 * Equal texts are the same module, whatever became of its file.
 */
export async function bundleModule(folder: string, file: string): Promise<Bundle | readonly Fault[]> {
  // Few sites have modules, and a compiler is large.
  const { build, stop } = await import('esbuild')
  compiling++
  const path = join(folder, file)
  try {
    const { outputFiles } = await build({
      entryPoints: [path],
      absWorkingDir: folder,
      // The names in the source map are relative to this file, which is never written.
      outfile: join(folder, 'bundle.js'),
      bundle: true,
      write: false,
      sourcemap: 'external',
      sourcesContent: false,
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      logLevel: 'silent',
      // The site's own compiler settings are for its editor.
      tsconfigRaw: '{}',
      define: {
        'import.meta.url': JSON.stringify(pathToFileURL(path).href),
        'import.meta.filename': JSON.stringify(path),
        'import.meta.dirname': JSON.stringify(dirname(path)),
      },
      plugins: [packagesStay],
    })
    const [map, code] = outputFiles.sort((one, other) => other.path.length - one.path.length)
    const sources = new SourceMap(JSON.parse(map!.text) as ConstructorParameters<typeof SourceMap>[0])
    return {
      file,
      text: `${code!.text}//# sourceURL=${bundleName}\n`,
      placeOf: (line, column) => {
        const found = sources.findEntry(line - 1, column - 1)
        return 'originalSource' in found && found.originalSource
          ? { file: found.originalSource, line: found.originalLine + 1, column: found.originalColumn + 1 }
          : undefined
      },
    }
  } catch (error) {
    if (!isBuildFailure(error)) throw error
    return error.errors.map(({ text, location }) => ({
      ...fileFault(location?.file ?? file, text),
      ...(location && { line: location.line, column: location.column + 1 }),
    }))
  } finally {
    if (--compiling === 0) await stop()
  }
}

const frame = new RegExp(`${bundleName}:(\\d+):(\\d+)`, 'g')

/** Makes a fault from an error of a module, with the places of its files in the stack; it is reported at the first of them. */
export function thrownAt({ file, placeOf }: Bundle, { message, stack }: Thrown): SiteFault {
  const places = [...stack.matchAll(frame)].map(([, line, column]) => placeOf(Number(line), Number(column)))
  const mapped = stack.replace(frame, (text, line: string, column: string) => {
    const place = placeOf(Number(line), Number(column))
    return place ? `${place.file}:${place.line}:${place.column}` : text
  })
  return new SiteFault({ ...fileFault(file, message), ...places.find(Boolean) }, { stack: mapped || message })
}

/** Resolves packages from the file that imports them, and leaves them out of the text. */
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
