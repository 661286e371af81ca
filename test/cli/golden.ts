/** Golden files: what is promised to people and scripts. `UPDATE_GOLDEN=1 npm test -- cli` writes them anew. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

const folder = join(import.meta.dirname, 'golden')

/** The text equals the golden file of that name. */
export function goldenText(name: string, text: string): void {
  const path = join(folder, name)
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, text)
  }
  assert.equal(text, readFileSync(path, 'utf8'), `${name} is another; UPDATE_GOLDEN=1 writes it anew`)
}

/** The shape of a JSON value: names and kinds, no values. Lists of objects have the shape of their first entry. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return typeof value[0] === 'object' ? [shapeOf(value[0])] : 'list'
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shapeOf(one)]))
}
