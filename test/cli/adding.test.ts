/** What the programmer's README says about adding a command or an operation is all there is to it, and nothing can be forgotten. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { operations } from '../../src/control/index.ts'

const src = join(import.meta.dirname, '../../src')

describe('adding', () => {
  it('a command: a function in cli/<noun>.ts, called in cli/main.ts', () => {
    const main = readFileSync(join(src, 'cli/main.ts'), 'utf8')
    const added = matches('cli', /export function (add\w+Commands?)\(program/g)
    assert.ok(added.length > 10)
    assert.deepEqual(
      added.filter((name) => !main.includes(`  ${name}(program)\n`)),
      [],
    )
  })

  it('an operation: written in control/<noun>.ts, listed in control/index.ts, asked by a command or a page', () => {
    const pattern = /(?:defineOperation\(\{\s*name: |methodOperation\()'([\w.]+)'/g
    const written = [...matches('control', pattern), ...matches('control/doctor', pattern)]
    assert.deepEqual([...written].sort(), Object.keys(operations).sort())
    const asked = new Set([
      ...matches('cli', /\b(?:askAndPrint|operate|askDaemon|stream)\([^)]*?'([\w.]+)'/g),
      ...matches('pages', /\bask\([^)]*?'([\w.]+)'/g),
    ])
    assert.deepEqual(
      written.filter((name) => !asked.has(name)),
      [],
    )
  })
})

function matches(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(src, folder))
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(join(src, folder, file), 'utf8').matchAll(pattern)])
    .map((match) => match[1]!)
}
