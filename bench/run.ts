/**
 * Runs the benches and writes what they print into the tables of README.md: `npm run bench` for all of them (about an
 * hour on a quiet machine), `npm run bench -- mcp start` for those whose name contains one of these words.
 */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { supportedNodes, withNode } from '../scripts/nodes.ts'

const { env, version } = withNode(supportedNodes.at(-1)!)
const readme = join(import.meta.dirname, 'README.md')
const words = process.argv.slice(2)
const marked = /<!-- bench: (\S+) -->\n\n?(?:`([^`\n]+)`\n)?[\s\S]*?<!-- end -->/g

const failed: string[] = []
for (const [, name, command] of readFileSync(readme, 'utf8').matchAll(marked)) {
  if (command === undefined || (words.length > 0 && !words.some((word) => name!.includes(word)))) continue
  process.stderr.write(`${name}: ${command}\n`)
  const { code, output } = await run(command)
  if (code !== 0) failed.push(name!)
  else write(name!, command, output.trim())
}
if (failed.length > 0) {
  process.stderr.write(`failed: ${failed.join(', ')}\n`)
  process.exitCode = 1
}

function run(command: string): Promise<{ code: number | null; output: string }> {
  return new Promise((done) => {
    const child = spawn(command, {
      shell: true,
      env,
      cwd: resolve(import.meta.dirname, '..'),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.on('close', (code) => done({ code, output }))
  })
}

/** Puts a bench's output in the place of the last: a table as it is, anything else word for word. */
function write(name: string, command: string, output: string): void {
  const shown = output.startsWith('|') ? output : `\`\`\`\n${output}\n\`\`\``
  const date = new Date().toISOString().slice(0, 10)
  const machine = `${date}, Node ${version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GB`
  const text = readFileSync(readme, 'utf8').replaceAll(marked, (whole, found: string) =>
    found === name
      ? `<!-- bench: ${name} -->\n\n\`${command}\`\n\n${shown}\n\n${machine}\n\n<!-- end -->`
      : whole,
  )
  writeFileSync(readme, text)
}
