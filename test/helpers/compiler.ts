/** The compiler, over a copy of the source that a test changed: the tests themselves run without it. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { projectRoot } from './daemon.ts'

/** What the compiler says of these files of a copy, and of all that they import: an error a line. */
export async function compileFaults(copy: string, files: readonly string[]): Promise<readonly string[]> {
  const { compilerOptions } = JSON.parse(readFileSync(join(projectRoot, 'tsconfig.json'), 'utf8')) as {
    compilerOptions: object
  }
  const config = { compilerOptions, files }
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc')
  return new Promise((resolve) => {
    execFile(process.execPath, [compiler, '-p', copy], { cwd: copy }, (_error, out) => {
      resolve(out.split('\n').filter((line) => line.includes('error TS')))
    })
  })
}
