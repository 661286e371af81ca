import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Channels } from '../../src/library/versions/channels.ts'
import type { Library } from '../../src/library/library.ts'
import { faultText } from '#site/site-files.ts'
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

/** A library as far as channels know it. */
const libraryAt = (branch?: string): Library => ({ lineage: { branch } }) as Library

describe('the line of a library', () => {
  const libraries = {
    default: libraryAt('HEAD'),
    beta: libraryAt('next'),
    'HR User': libraryAt(),
    site: libraryAt(),
  }
  const { default: _, ...withoutDefault } = libraries
  const siteFirst = Object.fromEntries(Object.entries(libraries).toReversed())
  const rows: readonly (readonly [
    says: string,
    lines: Readonly<Record<string, Library>>,
    roles: readonly string[],
    seen: keyof typeof libraries,
    written: keyof typeof libraries,
  ])[] = [
    ['is that of the role', libraries, ['beta'], 'beta', 'beta'],
    ['is the first of several in the order of the setting', libraries, ['HR User', 'beta'], 'beta', 'beta'],
    ['is the default for everybody else', libraries, ['Assistant User'], 'default', 'default'],
    ['is the working tree where there is no default', withoutDefault, [], 'site', 'site'],
    ['is written to in the working tree where it is no branch', libraries, ['HR User'], 'HR User', 'site'],
    ['is none for a role that is called like the default', libraries, ['default', 'beta'], 'beta', 'beta'],
    ['is none for a role that is called site', libraries, ['site'], 'default', 'default'],
    ['is none for a role called site before a channel either', siteFirst, ['site', 'beta'], 'beta', 'beta'],
  ]
  for (const [says, lines, roles, seen, written] of rows)
    it(says, () => {
      const channels = new Channels(new Map(Object.entries(lines)))
      const who = as('x@example.com', [...roles])
      assert.equal(channels.lineOf(who), seen)
      assert.equal(channels.for(who), libraries[seen])
      assert.equal(channels.writtenLine(seen), written)
      assert.equal(channels.site, libraries.site)
    })

  it('is replaced by itself, and the others stay', () => {
    const channels = new Channels(new Map(Object.entries(libraries)))
    const newer = libraryAt('next')
    channels.replace(new Map([['beta', newer]]))
    assert.deepEqual([...channels.all().keys()], Object.keys(libraries))
    assert.equal(channels.for(as('x@example.com', ['beta'])), newer)
    assert.equal(channels.site, libraries.site)
  })
})

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

  it('have the name of their branch wherever the site is: pulled, cloned, or where it is worked on', async (t) => {
    const folder = await repository(t)
    const shown = async (ref: string): Promise<string> => {
      const { library } = await open(await world(t), folder, { channels: { beta: ref } })
      return (await library.for(beta).render(beta, 'x', {})).text.trim()
    }
    assert.deepEqual(await Promise.all(['next', 'site/next'].map(shown)), ['next', 'next'])
    for (const remote of ['site', 'origin']) {
      await git(folder, 'update-ref', `refs/remotes/${remote}/later`, 'next')
      assert.deepEqual(await Promise.all(['later', 'site/later'].map(shown)), ['next', 'next'], remote)
      await git(folder, 'update-ref', '-d', `refs/remotes/${remote}/later`)
    }
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

  it('keeps a channel where it was when a Published prompt of its branch begins to fail its tests', async (t) => {
    const tested = (body: string, part: string): string => template(`tests: [{ contains: ${part} }]`, body)
    const folder = await repository(t)
    const commit = async (files: Record<string, string>): Promise<void> => {
      await git(folder, 'checkout', '--quiet', 'next')
      await write(folder, files)
      await commitAll(folder, 'more')
      await git(folder, 'checkout', '--quiet', 'main')
    }
    await commit({ 'prompts/x.md': tested('passes', 'passes'), 'prompts/z.md': tested('passes', 'passes') })
    const w = await world(t)
    const { library } = await open(w, folder, { channels: { beta: 'next' } })
    await commit({ 'prompts/x.md': tested('fails', 'passes') })
    const refused = await w.librarian.refresh(library)
    assert.deepEqual(refused.faults.map(faultText), [
      'next:prompts/x.md:5:9 tests[0]: test 1: does not contain "passes"',
    ])
    assert.equal((await library.for(beta).render(beta, 'x', {})).text.trim(), 'passes')
    await commit({ 'prompts/x.md': tested('passes', 'passes'), 'prompts/z.md': tested('new', 'new') })
    assert.deepEqual((await w.librarian.refresh(library)).faults, [])
    assert.equal((await library.for(beta).render(beta, 'z', {})).text.trim(), 'new')
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
