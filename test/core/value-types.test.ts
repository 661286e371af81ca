/** Whoever adds a type of argument or field is led to every place that must know it, by errors of the compiler. */
import assert from 'node:assert/strict'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { register } from 'tsx/esm/api'
import { compileFaults } from '../helpers/compiler.ts'
import { projectRoot, temporaryFolder } from '../helpers/daemon.ts'

/** The source and what compiles it, in a folder that a test may change. */
function copyOfSource(t: TestContext): string {
  const copy = temporaryFolder(t)
  for (const part of ['src', 'packages', 'package.json'])
    cpSync(join(projectRoot, part), join(copy, part), { recursive: true })
  symlinkSync(join(projectRoot, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

function edit(copy: string, file: string, what: string, into: string): void {
  const path = join(copy, file)
  const text = readFileSync(path, 'utf8')
  assert.ok(text.includes(what), `${file} has no ${what}`)
  writeFileSync(path, text.replace(what, into))
}

/** The files that do not compile. */
async function unfinished(copy: string): Promise<string[]> {
  const faults = await compileFaults(copy, [
    'src/library/prompts/arguments.ts',
    'src/analysis/permitted.ts',
    'packages/sandbox/src/sql/sql-values.mjs',
  ])
  return [
    ...new Set(faults.map((fault) => /((?:src|packages)\/[\w./-]+)\(/.exec(fault)?.[1] ?? fault)),
  ].sort()
}

describe('a new type of value', () => {
  it(
    'compiles only when it is read, completed and described, and then works everywhere',
    { timeout: 300_000 },
    async (t) => {
      const copy = copyOfSource(t)
      assert.deepEqual(await unfinished(copy), [])
      // Its names alone: as the type of an argument, of a field, and with a column that SQL does not have yet.
      edit(copy, 'src/library/words.ts', "  'link',\n] as const", "  'link',\n  'time',\n] as const")
      edit(
        copy,
        'src/documents/platform/platform.ts',
        "  'attachment',\n] as const",
        "  'attachment',\n  'time',\n] as const",
      )
      edit(copy, 'packages/sandbox/src/tables.ts', "| 'datetime' | 'json'", "| 'datetime' | 'json' | 'time'")
      assert.deepEqual(await unfinished(copy), [
        'packages/sandbox/src/sql/sql-values.mjs',
        'src/documents/values.ts',
        'src/library/prompts/argument-types.ts',
      ])
      edit(
        copy,
        'src/library/prompts/argument-types.ts',
        "  link: 'link',\n",
        "  link: 'link',\n  time: 'time',\n",
      )
      edit(copy, 'src/documents/values.ts', '  table: null,\n', "  table: null,\n  time: { type: 'time' },\n")
      edit(
        copy,
        'packages/sandbox/src/sql/sql-values.mjs',
        '  json: VARCHAR,\n',
        '  json: VARCHAR,\n  time: VARCHAR,\n',
      )
      assert.deepEqual(await unfinished(copy), [
        'src/documents/values.ts',
        'src/library/prompts/argument-types.ts',
      ])
      const kind = (schema: string) =>
        `  time: { read: readTime, complete: usually, column: 'time'${schema} },\n  link: { read`
      edit(copy, 'src/core/values.ts', '  link: { read', kind(''))
      edit(
        copy,
        'src/core/values.ts',
        'function readJson(',
        `function readTime(given: unknown): ReadValue {
        return /^[0-2]\\d:[0-5]\\d$/.test(String(given)) ? { value: given } : { problem: 'must be a time' }
      }
      function readJson(`,
      )
      assert.ok(
        (await unfinished(copy)).includes('src/core/values.ts'),
        'a type that JSON Schema does not describe',
      )
      edit(copy, 'src/core/values.ts', kind(''), kind(", schema: { type: 'string', format: 'time' }"))
      assert.deepEqual(await unfinished(copy), [])

      t.after(register())
      const load = async (file: string): Promise<Record<string, (...args: unknown[]) => never>> =>
        (await import(pathToFileURL(join(copy, file)).href)) as never
      const { readValue } = await load('src/documents/values.ts')
      assert.deepEqual(readValue!({ type: 'time', options: [] }, '09:30'), { value: '09:30' })
      assert.deepEqual(readValue!({ type: 'time', options: [] }, 'noon'), { problem: 'must be a time' })
      const { readArguments } = await load('src/library/prompts/argument-rows.ts')
      const { compileArguments } = await load('src/library/prompts/arguments.ts')
      const rows = readArguments!(
        [{ argument_name: 'at', argument_type: 'time', default_value: '08:00' }],
        () => undefined,
      )
      const check = compileArguments!(rows, assert.fail) as (args: object) => {
        values: object
        problems: unknown[]
      }
      assert.deepEqual({ ...check({}).values }, { at: '08:00' })
      assert.deepEqual(check({ at: 'noon' }).problems, [{ argument: 'at', problem: 'must be a time' }])
      const { columnOf } = await load('src/analysis/permitted.ts')
      assert.deepEqual(columnOf!({ name: 'at', type: 'time' }), { name: 'at', type: 'time' })
    },
  )
})
