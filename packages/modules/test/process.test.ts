import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import { createLog } from '#leaf/log.ts'
import { bundleModule } from '#modules/bundle.ts'
import { type ModuleCall, ModuleProcess } from '#modules/process.ts'
import type { SiteFault } from '#site/checking.ts'
import { faultText } from '#site/site-files.ts'

/** A module with one tool that runs these lines. */
async function started(t: TestContext, run: string, tick = 1000) {
  const folder = mkdtempSync(join(tmpdir(), 'modules-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(
    join(folder, 'a.ts'),
    `type Context = any\nexport const tools = ({ defineTool, AppError }) => [\n  defineTool({ name: 'a', colour: 'red', run: async (args, context: Context) => { ${run} } })\n]\n`,
  )
  const bundle = await bundleModule(folder, 'a.ts')
  assert.ok('text' in bundle)
  const faults: SiteFault[] = []
  const log = createLog('error', { write: () => undefined })
  const onFault = (fault: SiteFault): void => void faults.push(fault)
  const module = new ModuleProcess({
    bundle,
    memoryMegabytes: 128,
    memorySetting: 'mine',
    log,
    onFault,
    tick,
  })
  t.after(() => module.close())
  const announced = await module.start()
  const call = (changes: Partial<ModuleCall> = {}): Promise<unknown> =>
    module.call({
      tool: 'a',
      args: {},
      given: {},
      asks: {},
      tells: {},
      isEnd: () => false,
      signal: new AbortController().signal,
      requestId: 'r1',
      ...changes,
    })
  return { module, announced, call, faults }
}

describe('a module in a process of its own', () => {
  it('announces its tools as their author wrote them, and answers calls', async (t) => {
    const { announced, call } = await started(t, 'return { twice: args.n * 2, on: new Date(0) }')
    assert.deepEqual(announced, [{ name: 'a', colour: 'red', run: null, runs: true }])
    assert.deepEqual(await call({ args: { n: 4 } }), { twice: 8, on: '1970-01-01T00:00:00.000Z' })
  })

  it('finds in its context what the call was given, sets as sets, and no more', async (t) => {
    const { call } = await started(
      t,
      'return [Object.keys(context), context.roles.has("Clerk"), await context.store.get(2), await context.add(1, 2)]',
    )
    const told = await call({
      given: { roles: new Set(['Clerk']) },
      asks: { 'store.get': async (n: number) => n + 1, add: async (a: number, b: number) => a + b },
      tells: { log: () => undefined },
    })
    assert.deepEqual(told, [['roles', 'signal', 'store', 'add', 'log'], true, 3, 3])
  })

  it('reaches nothing by a name that it was not given, were it one that every object has', async (t) => {
    const send = `const { writeSync } = await import('node:fs')
      for (const verb of ['constructor', '__proto__', 'store.drop']) {
        writeSync(3, JSON.stringify({ question: 9, call: 1, verb, params: ['x'] }) + '\\n')
        writeSync(3, JSON.stringify({ of: 1, verb, params: ['x'] }) + '\\n')
      }
      return await context.ok()`
    const { call, faults } = await started(t, send)
    assert.equal(await call({ asks: { ok: async () => 'still there' } }), 'still there')
    assert.deepEqual(faults, [])
  })

  it('acts for no call that has ended', async (t) => {
    const { call } = await started(
      t,
      'globalThis.kept ??= context.note; return await globalThis.kept(args.n)',
    )
    const noted: unknown[] = []
    const asks = { note: async (n: number) => noted.push(n) }
    assert.equal(await call({ args: { n: 1 }, asks }), 1)
    await assert.rejects(call({ args: { n: 2 }, asks }), { code: 'conflict', message: 'the call has ended' })
    assert.deepEqual(noted, [1])
  })

  it('is told what is meant for its caller, nothing of a bug, and ends by an error that ends the call', async (t) => {
    const { call } = await started(
      t,
      'try { return await context.ask() } catch (error) { return error.message }',
    )
    const asking = (error: Error) => ({
      ask: async () => {
        throw error
      },
    })
    assert.equal(await call({ asks: asking(new AppError('invalid', 'no such n')) }), 'no such n')
    assert.equal(await call({ asks: asking(new Error('secret')) }), 'internal error')
    const over = new Error('over')
    await assert.rejects(call({ asks: asking(over), isEnd: (error) => error === over }), over)
  })

  it('hears that its caller left, who waits no longer', async (t) => {
    const { call } = await started(
      t,
      'if (args.left) return globalThis.left; await new Promise((resolve) => context.signal.addEventListener("abort", resolve)); globalThis.left = true',
    )
    const leaving = new AbortController()
    const waiting = call({ signal: leaving.signal })
    setTimeout(() => leaving.abort(), 50)
    await assert.rejects(waiting, /the call has ended/)
    assert.equal(await call({ args: { left: true } }), true)
  })

  const ends: readonly (readonly [string, RegExp])[] = [
    ['void Promise.reject(new Error("late")); await new Promise(() => {})', /^a\.ts:3:\d+ late$/],
    ['while (globalThis.never !== 1) globalThis.n = 1', /^a\.ts:3:\d+ it loops/],
    ['process.exit(0)', /^a\.ts:3:\d+ process\.exit\(\) was called$/],
    [
      'const kept = []; for (;;) kept.push(new Array(1e5).fill(kept.length))',
      /more than the 128 MB of mine$/,
    ],
  ]
  for (const [run, told] of ends)
    it(`fails a call by ${run.slice(0, 30)} with the line, and starts again`, async (t) => {
      const { module, call, faults } = await started(t, run)
      await assert.rejects(call(), { code: 'unavailable' })
      assert.match(faultText(faults[0]!.fault), told)
      assert.equal(module.runs, false)
      await assert.rejects(call(), /is being started again/)
      assert.equal((await module.start()).length, 1)
    })

  it('tells the faults of its text at their line, instead of a module', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'modules-'))
    t.after(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'b.ts'), '\nconst x: = 1\n')
    const faults = await bundleModule(folder, 'b.ts')
    assert.ok(Array.isArray(faults))
    assert.deepEqual(faults.map(faultText), ['b.ts:2:10 Unexpected "="'])
  })
})
