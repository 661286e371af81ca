import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'

/** A folder with these files that is gone when the test ends. */
export function siteFolder(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>> = {},
): string {
  const folder = mkdtempSync(join(tmpdir(), 'site-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  writeFiles(folder, files)
  return folder
}

/** Writes files below a folder, making the folders they need. */
export function writeFiles(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

const person = ['-c', 'user.name=Pat Person', '-c', 'user.email=pat@example.com']

/** Runs git beside us, so that whatever watches the folder sees it at work. */
export async function gitBeside(folder: string, ...args: string[]): Promise<void> {
  await promisify(execFile)('git', [...person, ...args], { cwd: folder })
}

/** Runs git as a person with a configuration of their own would. */
export function gitIn(folder: string, ...args: string[]): string {
  return execFileSync('git', [...person, ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim()
}

/** Why tests that need git are skipped, if they are. */
export function withoutGit(): string | false {
  try {
    execFileSync('git', ['--version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'git is not installed'
  }
}
