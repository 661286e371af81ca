/** What the programmer's README says about adding a command or an operation is all there is to it, and nothing can be forgotten. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { createProgram } from '../../src/cli/main.ts'
import { operations } from '../../src/control/index.ts'
import type { Operation } from '../../src/control/operation.ts'

const src = join(import.meta.dirname, '../../src')
const packages = join(src, '../packages')
const offered = new Set(createProgram().every.map(({ path }) => path.join(' ')))

describe('adding', () => {
  it('a command: described in cli/<noun>.ts, and in the outline of cli/main.ts', () => {
    const described = matches('cli', /defineCommand\(\{\s*name: '([\w -]+)'/g)
    assert.ok(described.length > 20)
    assert.deepEqual(
      described.filter((name) => !offered.has(name)),
      [],
    )
  })

  it('an operation: written in control/<noun>.ts, listed in control/index.ts, asked by its command, another one, or a page', () => {
    const pattern = /(?:defineOperation\(\{|methodOperation\([^{]*\{)(?:\s*\/\/.*)*\s*name: '([\w.]+)'/g
    const written = matches('control', pattern)
    assert.deepEqual(written.toSorted(), Object.keys(operations).sort())
    const asked = new Set([
      ...matches('cli', /\b(?:operate|ask|askDaemon|stream)\([^)]*?'([\w.]+)'/g),
      ...matches('pages', /\bask\([^)]*?'([\w.]+)'/g),
    ])
    const silent = Object.values<Operation>(operations).filter(({ does }) => does === undefined)
    assert.ok(silent.length > 5)
    assert.deepEqual(
      silent.filter(({ name }) => !asked.has(name)).map(({ name }) => name),
      [],
    )
  })

  it('an operation: which loads nothing that a running daemon has not loaded, so that its files may be replaced', () => {
    const loaded = loadedBy(join(src, 'daemon.ts'))
    // A daemon opens every part at its start.
    for (const part of specifiers(join(src, 'house/services.ts'), /\bimport\('([^']+)'\)/g))
      loadedBy(part, loaded)
    const later = readdirSync(join(src, 'control')).flatMap((file) =>
      file.endsWith('.ts') ? specifiers(join(src, 'control', file), /\bimport\('([^']+)'\)/g) : [],
    )
    assert.ok(later.length > 10)
    assert.deepEqual(
      later.filter((file) => !loaded.has(file)),
      [],
    )
  })

  it('an operation: without loading, for every command, what only its run needs', () => {
    const loaded = [...loadedBy(join(src, 'cli/main.ts'))].map((file) => relative(src, file))
    assert.ok(loaded.includes('control/site.ts'))
    // A table of addresses is not large.
    const large =
      /^(analysis|house|documents|mcp|pages(?!\/pages\.ts)|tools)\/|^\.\.\/packages\/(sandbox|state\/src\/(?!lines)|jinja|leaf\/src\/schema\.ts)|^daemon\.ts$/
    assert.deepEqual(
      loaded.filter((file) => large.test(file)),
      [],
    )
  })

  it('an operation that needs only what was given to clients: without loading what the site is read into', () => {
    const parts = ['services', 'token-door'].map((part) => join(src, `house/${part}.ts`))
    const loaded = parts.flatMap((file) => [...loadedBy(file)]).map((file) => relative(src, file))
    assert.ok(loaded.includes('oauth/tokens/tokens.ts'))
    const large =
      /^(analysis|documents|library|mcp|pages|tools|users)\/|^\.\.\/packages\/(sandbox\/src\/(?!settings)|jinja)/
    assert.deepEqual(
      loaded.filter((file) => large.test(file)),
      [],
    )
  })

  it('either without a place in the outline is told at once', () => {
    const lost = { ...operations['keys.list'], name: 'keys.lost' }
    assert.throws(
      () => createProgram({ ...operations, 'keys.lost': lost }),
      /no place in the outline for: keys lost/,
    )
  })
})

/** The files that importing one brings along, types aside. */
function loadedBy(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file) || !file.endsWith('.ts')) return known
  known.add(file)
  for (const next of specifiers(file, /^(?:import|export)\s+(?!type\b)(?:[^'";]*?from\s+)?'([.#][^']+)'/gm))
    loadedBy(next, known)
  return known
}

function specifiers(file: string, pattern: RegExp): string[] {
  const placed = (path: string): string =>
    path.startsWith('#') ? join(packages, path.replace(/^#(\w+)\//, '$1/src/')) : resolve(dirname(file), path)
  return [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, path]) => placed(path!))
}

function matches(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(src, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(join(src, folder, file), 'utf8').matchAll(pattern)])
    .map((match) => match[1]!)
}
