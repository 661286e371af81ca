import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { followRefs } from '../../src/library/follow-refs.ts'
import type { Refreshed } from '../../src/library/librarian.ts'
import { as, commitAll, folderWith, git, open, template, world, write } from './library-site.ts'

const beta = as('beta@example.com')

describe('following branches', () => {
  it('shows the new library soon after a branch moved, also when git packs its references', async (t) => {
    // It ends before the store that it looks at.
    let end: (() => Promise<void>) | undefined
    t.after(() => end?.())
    const folder = await folderWith(t, { 'prompts/x.md': template('', 'one') })
    await git(folder, 'init', '--quiet', '-b', 'main')
    await commitAll(folder, 'one')
    await git(folder, 'branch', 'next')
    const w = await world(t)
    const channels = { beta: 'next' }
    const { library } = await open(w, folder, { channels })
    const told: Refreshed[] = []
    const following = await followRefs(folder, w.librarian, {
      library: () => library,
      channels: () => channels,
      onRefreshed: (refreshed) => void told.push(refreshed),
      onError: (error) => assert.fail(String(error)),
      milliseconds: 20,
    })
    end = () => following.close()
    await following.look()
    assert.equal(told.length, 0)

    await write(folder, { 'prompts/x.md': template('', 'two') })
    await commitAll(folder, 'two')
    await git(folder, 'branch', '--force', 'next', 'main')
    // Its own timer does not keep a process alive, so the waiting is done by one that does.
    for (const end = Date.now() + 30_000; told.length === 0 && Date.now() < end;) await delay(10)
    await following.look()
    assert.equal((await library.for(beta).render(beta, 'x', {})).text.trim(), 'two')
    assert.ok(told.some(({ changed, faults }) => changed && faults.length === 0))

    const count = told.length
    await git(folder, 'pack-refs', '--all')
    await following.look()
    assert.equal(told.length, count)
    await git(folder, 'branch', '--quiet', '-D', 'next')
    await following.look()
    assert.match(told.at(-1)!.faults[0]!.message, /there is no branch/)
    await following.look()
    assert.equal(told.filter(({ faults }) => faults.length > 0).length, 1, 'told once')
    assert.equal((await library.for(beta).render(beta, 'x', {})).text.trim(), 'two')
  })

  it('has nothing to do outside of git', async (t) => {
    const folder = await folderWith(t, { 'prompts/x.md': template('') })
    const w = await world(t)
    const { library } = await open(w, folder)
    const following = await followRefs(folder, w.librarian, {
      library: () => library,
      channels: () => ({}),
      onRefreshed: () => assert.fail('nothing moved'),
      onError: (error) => assert.fail(String(error)),
      milliseconds: 5,
    })
    await following.look()
    await following.close()
  })
})
