import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { as, check, commitAll, folderWith, git, open, template, world, write } from './library-site.ts'

const beta = as('beta@example.com')
const sales = as('sales@example.com')

async function repository(t: Parameters<typeof folderWith>[0]): Promise<string> {
  const folder = await folderWith(t, { 'prompts/x.md': template('', 'stable') })
  await git(folder, 'init', '--quiet', '-b', 'main')
  await commitAll(folder, 'stable')
  await git(folder, 'checkout', '--quiet', '-b', 'next')
  await write(folder, { 'prompts/x.md': template('', 'next'), 'prompts/y.md': template('', 'only next') })
  await commitAll(folder, 'next')
  await git(folder, 'checkout', '--quiet', 'main')
  return folder
}

describe('channels (library.channels)', () => {
  it('shows a role the library of its branch, read from git and not from the working tree', async (t) => {
    const folder = await repository(t)
    const w = await world(t)
    await write(folder, { 'prompts/x.md': template('', 'not committed') })
    const { library } = await open(w, folder, { channels: { default: 'HEAD', beta: 'next' } })
    assert.equal((await library.for(sales).render(sales, 'x', {})).text.trim(), 'stable')
    assert.equal((await library.for(beta).render(beta, 'x', {})).text.trim(), 'next')
    assert.deepEqual(
      library
        .for(beta)
        .prompts(beta)
        .map(({ id }) => id),
      ['x', 'y'],
    )
    assert.throws(() => library.for(sales).prompt(sales, 'y'), { code: 'not_found' })
    assert.notEqual(library.for(beta).promptsDigest(beta), library.for(sales).promptsDigest(sales))
  })

  it('gives everybody else the working tree when there is no default channel', async (t) => {
    const folder = await repository(t)
    await write(folder, { 'prompts/x.md': template('', 'not committed') })
    const { library } = await open(await world(t), folder, { channels: { beta: 'next' } })
    assert.equal((await library.for(sales).render(sales, 'x', {})).text.trim(), 'not committed')
    assert.equal((await library.for(beta).render(beta, 'x', {})).text.trim(), 'next')
  })

  it('takes the first channel in the order of the setting, and no role for a channel that is none', async (t) => {
    const folder = await repository(t)
    const { library } = await open(await world(t), folder, {
      channels: { default: 'HEAD', beta: 'next', 'HR User': 'HEAD' },
    })
    const text = async (...roles: string[]): Promise<string> =>
      (
        await library
          .for(as('x@example.com', ['Assistant User', ...roles]))
          .render(as('x@example.com', ['Assistant User', ...roles]), 'x', {})
      ).text
    assert.equal(await text('HR User', 'beta'), 'next')
    assert.equal(await text('HR User'), 'stable')
    await write(folder, { 'prompts/x.md': template('', 'not committed') })
    assert.equal(await text('site', 'default'), 'stable')
  })

  it('follows the branch when it moves, forward and back, and audits it', async (t) => {
    const folder = await repository(t)
    const w = await world(t)
    const { library } = await open(w, folder, { channels: { beta: 'next' } })
    const from = await git(folder, 'rev-parse', 'next')
    const back = await git(folder, 'rev-parse', 'main')
    assert.deepEqual(await w.librarian.refresh(library), { changed: false, faults: [] })

    await git(folder, 'branch', '--force', 'next', 'main')
    assert.deepEqual(await w.librarian.refresh(library), { changed: true, faults: [] })
    assert.equal((await library.for(beta).render(beta, 'x', {})).text.trim(), 'stable')
    await git(folder, 'branch', '--force', 'next', from)
    await w.librarian.refresh(library)
    assert.equal((await library.for(beta).render(beta, 'x', {})).text.trim(), 'next')

    const events = await w.audited('library.channel')
    assert.deepEqual(
      events
        .map(({ target, data }) => ({ target, data }))
        .sort((a, b) => (a.data!['from'] === from ? -1 : b.data!['from'] === from ? 1 : 0)),
      [
        { target: 'beta', data: { ref: 'next', from, to: back } },
        { target: 'beta', data: { ref: 'next', from: back, to: from } },
      ],
    )
  })

  it('keeps a channel where it was when its branch has faults or is gone', async (t) => {
    const folder = await repository(t)
    const w = await world(t)
    const { library } = await open(w, folder, { channels: { beta: 'next' } })
    await git(folder, 'checkout', '--quiet', 'next')
    await write(folder, { 'prompts/x.md': template('stauts: Draft') })
    await commitAll(folder, 'broken')
    await git(folder, 'checkout', '--quiet', 'main')
    const { changed, faults } = await w.librarian.refresh(library)
    assert.deepEqual(
      faults.map(({ file, message }) => `${file} ${message}`),
      ['next:prompts/x.md unknown key; did you mean "status"?'],
    )
    assert.equal(changed, false)
    assert.equal((await library.for(beta).render(beta, 'x', {})).text.trim(), 'next')

    await git(folder, 'branch', '--quiet', '-D', 'next')
    assert.match(
      (await w.librarian.refresh(library)).faults[0]!.message,
      /there is no branch, tag or commit "next"/,
    )
    assert.equal((await library.for(beta).render(beta, 'x', {})).text.trim(), 'next')
  })

  it('count versions along their own branch, and a fast-forward brings the numbers with it', async (t) => {
    const folder = await repository(t)
    const w = await world(t)
    const { library } = await open(w, folder, { channels: { beta: 'next' } })
    assert.deepEqual(
      [library.for(sales).prompt(sales, 'x').version, library.for(beta).prompt(beta, 'x').version],
      [1, 2],
    )
    await git(folder, 'merge', '--quiet', '--ff-only', 'next')
    const merged = await open(w, folder, { channels: { beta: 'next' } })
    assert.deepEqual(
      [
        merged.library.for(sales).prompt(sales, 'x').version,
        merged.library.for(beta).prompt(beta, 'x').version,
      ],
      [2, 2],
    )
    assert.equal((await merged.library.site.line.history('x', 10)).length, 2)
  })

  it('have a line of versions each: what one branch calls version 2 is not what the other does', async (t) => {
    const folder = await repository(t)
    await write(folder, { 'prompts/x.md': template('', 'main only') })
    await commitAll(folder, 'main only')
    const { library } = await open(await world(t), folder, { channels: { beta: 'next' } })
    const textOf = async (person: typeof sales): Promise<string> => {
      const { line } = library.for(person)
      return (await line.version('x', 2)).source.trim().split('\n').at(-1)!
    }
    assert.deepEqual([await textOf(sales), await textOf(beta)], ['main only', 'next'])
    assert.equal(library.for(sales).prompt(sales, 'x').version, 2)
    assert.equal(library.for(beta).prompt(beta, 'x').version, 2)
  })

  it('refuses roles and branches that do not exist, and sites outside of git', async (t) => {
    const folder = await repository(t)
    const w = await world(t)
    await assert.rejects(
      open(w, folder, { channels: { gamma: 'next', beta: 'nowhere' } }),
      (error: Error) => {
        assert.match(error.message, /library\.channels\.gamma: unknown role "gamma"/)
        assert.match(error.message, /library\.channels\.beta: there is no branch, tag or commit "nowhere"/)
        return true
      },
    )
    const { faults } = await check(t, { 'prompts/x.md': template('') }, { channels: { beta: 'next' } })
    assert.match(faults[0]!, /channels need the site to be in a git repository/)
  })
})
