import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { utimesSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import { systemClock } from '#leaf/clock.ts'
import { type LockHolder, lockHolder, lockState } from '#state/lock.ts'
import { isApp } from './contract.ts'
import { openStore, temporaryFolder, until } from './state-folder.ts'

const child = join(import.meta.dirname, 'lock-child.ts')

interface Child {
  readonly process: ChildProcess
  readonly lines: AsyncIterator<string>
}

async function startChild(t: TestContext, folder: string): Promise<Child> {
  const started = spawn(process.execPath, ['--import', 'tsx', child, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => started.kill('SIGKILL'))
  const lines = createInterface({ input: started.stdout })[Symbol.asyncIterator]()
  assert.equal((await lines.next()).value, 'ready')
  return { process: started, lines }
}

async function tell(child: Child): Promise<string> {
  child.process.stdin!.write('go\n')
  return String((await child.lines.next()).value)
}

describe('the lock of the state', () => {
  it('is refused while another process has it, naming that process, and is free afterwards', async (t) => {
    const folder = await temporaryFolder(t)
    const other = await startChild(t, folder)
    assert.equal(await tell(other), `held ${other.process.pid}`)
    await assert.rejects(
      openStore(t, folder),
      (error) => isApp('conflict')(error) && String(error).includes(`process ${other.process.pid}`),
    )
    assert.equal((await lockHolder(folder))?.pid, other.process.pid)
    assert.deepEqual(await readdir(folder), ['lock'])
    assert.equal(await tell(other), 'released')
    assert.equal(await lockHolder(folder), undefined)
    await openStore(t, folder)
  })

  it('is refused to a second store in the same process', async (t) => {
    const folder = await temporaryFolder(t)
    const store = await openStore(t, folder)
    await assert.rejects(openStore(t, folder), isApp('conflict'))
    await store.close()
    await openStore(t, folder)
  })

  it('passes on when its process was killed', async (t) => {
    const folder = await temporaryFolder(t)
    const other = await startChild(t, folder)
    await tell(other)
    other.process.kill('SIGKILL')
    await once(other.process, 'exit')
    const store = await openStore(t, folder)
    assert.equal((await lockHolder(folder))?.pid, process.pid)
    await store.close()
    assert.ok(!(await readdir(folder)).some((name) => name.startsWith('lock')))
  })

  it('passes to exactly one of many that find the same dead lock', async (t) => {
    for (let round = 0; round < 3; round++) {
      const folder = await temporaryFolder(t)
      await leaveDeadLock(folder)
      const children = await Promise.all(Array.from({ length: 5 }, () => startChild(t, folder)))
      const answers = await Promise.all(children.map(tell))
      const winner = children.findIndex((_, index) => answers[index]!.startsWith('held'))
      assert.equal(answers.filter((answer) => answer.startsWith('held')).length, 1, answers.join('\n'))
      for (const answer of answers) assert.match(answer, /^held|^refused the state is in use by process/)
      assert.equal((await lockHolder(folder))?.pid, children[winner]!.process.pid)
      assert.deepEqual(await readdir(folder), ['lock'])
      for (const { process } of children) process.kill('SIGKILL')
    }
  })

  it('passes on although whoever took it over before was killed in the middle', async (t) => {
    const folder = await temporaryFolder(t)
    const dead = await leaveDeadLock(folder)
    const guard = { ...dead, pid: dead.pid - 1, nonce: 'nonce-of-the-guard' }
    await writeFile(join(folder, `lock.${dead.nonce}`), JSON.stringify(guard))
    await writeFile(join(folder, 'lock.123.draft'), JSON.stringify(guard))
    const lock = await lockState(folder, systemClock)
    lock.requireHeld()
    assert.deepEqual(await readdir(folder), ['lock'])
    lock.release()
    assert.deepEqual(await readdir(folder), [])
  })

  it('is not mistaken for alive when another process has got the same number', async (t) => {
    const folder = await temporaryFolder(t)
    const lock = await lockState(folder, systemClock)
    const holder = JSON.parse(await readFile(join(folder, 'lock'), 'utf8')) as LockHolder
    lock.release()
    if (holder.started === '') return t.skip('this system does not tell when a process started')
    await writeFile(join(folder, 'lock'), JSON.stringify({ ...holder, started: '1' }))
    const again = await lockState(folder, systemClock)
    again.release()
    await writeFile(join(folder, 'lock'), JSON.stringify({ ...holder, boot: 'another-boot' }))
    const third = await lockState(folder, systemClock)
    third.release()
  })

  it('of another container counts while it is touched, and passes on when it falls silent', async (t) => {
    const folder = await temporaryFolder(t)
    const lock = await lockState(folder, systemClock)
    const path = join(folder, 'lock')
    const holder = JSON.parse(await readFile(path, 'utf8')) as LockHolder
    lock.release()
    if (holder.namespace === '') return t.skip('this system has no process namespaces')
    const elsewhere = JSON.stringify({ ...holder, namespace: 'pid:[1]', nonce: 'elsewhere-nonce' })
    await writeFile(path, elsewhere)
    const beat = setInterval(() => touch(path), 500)
    t.after(() => clearInterval(beat))
    await assert.rejects(lockState(folder, systemClock), isApp('conflict'))
    clearInterval(beat)
    const again = await lockState(folder, systemClock)
    again.release()
  })

  it('of a process that runs and is not shown passes on only when it falls silent', async (t) => {
    const folder = await temporaryFolder(t)
    const { pid } = await leaveDeadLock(folder)
    const before = process.kill.bind(process)
    // As under ProtectProc=invisible: nothing in /proc, but the number is taken.
    t.mock.method(
      process,
      'kill',
      (number: number, signal?: string | number) => number === pid || before(number, signal),
    )
    const path = join(folder, 'lock')
    const beat = setInterval(() => touch(path), 500)
    t.after(() => clearInterval(beat))
    await assert.rejects(lockState(folder, systemClock), isApp('conflict'))
    clearInterval(beat)
    const lock = await lockState(folder, systemClock)
    lock.release()
  })

  it('that nobody can read is refused, not removed', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'lock'), 'something else')
    await assert.rejects(lockState(folder, systemClock), isApp('conflict'))
    assert.equal(await readFile(join(folder, 'lock'), 'utf8'), 'something else')
  })

  it('that was taken away is noticed, and nothing is written any more', { timeout: 30_000 }, async (t) => {
    const folder = await temporaryFolder(t)
    const lock = await lockState(folder, systemClock)
    const store = await openStore(t, folder, { lock })
    const notes = store.collection({ name: 'test.note' })
    await notes.put({ id: 'before' })
    await writeFile(join(folder, 'lock'), JSON.stringify({ pid: 1, nonce: 'somebody-else' }))
    const write = (): Promise<boolean> => notes.put({ id: 'x' }).then(() => false, isApp('unavailable'))
    await until(write)
    await store.close()
    lock.release()
    assert.match(await readFile(join(folder, 'lock'), 'utf8'), /somebody-else/)
  })
})

/** What a living holder does to its lock. */
function touch(path: string): void {
  const now = Date.now() / 1000
  utimesSync(path, now, now)
}

/** A lock file as a process leaves it that was killed. */
async function leaveDeadLock(folder: string): Promise<LockHolder> {
  const path = join(folder, 'lock')
  const lock = await lockState(folder, systemClock)
  const own = JSON.parse(await readFile(path, 'utf8')) as LockHolder
  lock.release()
  // Above the largest number that a process may have.
  const dead = { ...own, pid: 4_999_999, started: '1', nonce: 'nonce-of-the-dead' }
  await writeFile(path, JSON.stringify(dead))
  return dead
}
