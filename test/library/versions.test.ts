import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { libraryDifference, versionHistory } from '../../src/library/versions/history.ts'
import { isStatusStep } from '../../src/library/versions/versions.ts'
import { as, commitAll, folderWith, git, open, template, world, write, type World } from './library-site.ts'

const admin = as('admin@example.com')

const sample = (lines = '', body = 'Hello {{ who }}'): string =>
  template(
    `owner: sales@example.com\narguments:\n  - argument_name: who\n    argument_type: select\n    allowed_values: a, b\n${lines}`,
    body,
  )

async function versionAfter(w: World, folder: string, text: string): Promise<number | null> {
  await write(folder, { 'prompts/x.md': text })
  return (await open(w, folder)).library.for(admin).prompt(admin, 'x').version
}

describe('§9.5 version_number', () => {
  it('goes up with the content, the engine and the arguments, and with nothing else', async (t) => {
    const folder = await folderWith(t, {})
    const w = await world(t)
    const steps: [string, number][] = [
      [sample(), 1],
      [sample(), 1],
      [
        sample('title: Another\ndescription: D\ntags: [t]\nstatus: Deprecated\nowner2: x').replace(
          'owner2: x\n',
          '',
        ),
        1,
      ],
      [sample('', 'Hello, {{ who }}'), 2],
      [sample('rendering_engine: Raw', 'Hello, {{ who }}'), 3],
      [sample('', 'Hello, {{ who }}'), 4],
      [sample('  - argument_name: more', 'Hello, {{ who }}'), 5],
      [sample('  - argument_name: more\n    is_required: 1', 'Hello, {{ who }}'), 6],
      [
        sample(
          '  - argument_name: more\n    is_required: 1\n    description: Only words',
          'Hello, {{ who }}',
        ),
        6,
      ],
      [sample('  - argument_name: more\n    argument_type: number', 'Hello, {{ who }}'), 7],
      [sample('', 'Hello, {{ who }}').replace('a, b', 'a, b, c'), 8],
    ]
    for (const [index, [text, expected]] of steps.entries()) {
      const status = /status: Deprecated/.test(text)
      if (status) {
        await write(folder, { 'prompts/x.md': text })
        const { library } = await open(w, folder)
        assert.equal(
          library.for(as('sales@example.com')).prompt(as('sales@example.com'), 'x').version,
          expected,
          `step ${index}`,
        )
      } else assert.equal(await versionAfter(w, folder, text), expected, `step ${index}`)
    }
  })

  it('is the same after a restart, and continues when a removed template comes back', async (t) => {
    const folder = await folderWith(t, { 'prompts/x.md': sample() })
    const w = await world(t)
    assert.equal(await versionAfter(w, folder, sample('', 'two')), 1)
    assert.equal(await versionAfter(w, folder, sample('', 'three')), 2)
    const again = { ...w, librarian: w.again() }
    assert.equal(await versionAfter(again, folder, sample('', 'three')), 2)
    await rm(join(folder, 'prompts/x.md'))
    await open(again, folder)
    assert.equal(await versionAfter(again, folder, sample('', 'four')), 3)
  })

  it('goes up once when several daemons over one state read the same change', async (t) => {
    const folder = await folderWith(t, { 'prompts/x.md': sample() })
    const w = await world(t)
    await open(w, folder)
    await write(folder, { 'prompts/x.md': sample('', 'two') })
    const daemons = Array.from({ length: 4 }, () => ({ ...w, librarian: w.again() }))
    const opened = await Promise.all(daemons.map((daemon) => open(daemon, folder)))
    assert.deepEqual(
      opened.map(({ library }) => library.for(admin).prompt(admin, 'x').version),
      [2, 2, 2, 2],
    )
    assert.equal((await opened[0]!.library.site.line.history('x', 10)).length, 2)
  })

  it('changes the digest of what clients see with every change that they can see', async (t) => {
    const folder = await folderWith(t, { 'prompts/x.md': sample(), 'prompts/y.md': template('') })
    const w = await world(t)
    const digest = async (text: string): Promise<string> => {
      await write(folder, { 'prompts/x.md': text })
      return (await open(w, folder)).library.for(admin).promptsDigest(admin)
    }
    const seen = [
      await digest(sample()),
      await digest(sample('title: T')),
      await digest(sample('', 'x')),
      await digest(sample('', 'y')),
    ]
    assert.equal(new Set(seen).size, 4)
    assert.equal(await digest(sample('', 'y')), seen[3])
  })
})

describe('§9.6 history', () => {
  it('tells author, time and commit from git, and that something is not committed', async (t) => {
    const folder = await folderWith(t, { 'prompts/x.md': sample() })
    await git(folder, 'init', '--quiet')
    const first = await commitAll(folder, 'first')
    const w = await world(t)
    const before = await open(w, folder)
    assert.equal((await before.library.for(admin).render(admin, 'x', { who: 'a' })).commit, first)

    await write(folder, { 'prompts/x.md': sample('', 'Good morning {{ who }}') })
    const { library } = await open(w, folder)
    const rendered = await library.for(admin).render(admin, 'x', { who: 'a' })
    assert.deepEqual([rendered.template.version, rendered.commit], [null, undefined])
    let history = await versionHistory(library.site.line, library.for(admin).prompt(admin, 'x'), 10)
    assert.deepEqual(
      history.map(({ version, author, commit, current }) => ({ version, author, commit, current })),
      [
        { version: null, author: 'not committed', commit: null, current: true },
        { version: 1, author: 'pat@example.com', commit: first, current: false },
      ],
    )
    assert.match(history[0]!.diff, /^--- version 1\n\+\+\+ not committed\n/)
    assert.match(history[0]!.diff, /-Hello \{\{ who \}\}\n\+Good morning \{\{ who \}\}$/)
    assert.equal(history[1]!.diff, '')

    // The commit comes later; nothing in the site changes, so it is the refresh that learns of it.
    const second = await commitAll(folder, 'second')
    assert.deepEqual(await w.librarian.refresh(library), { changed: true, faults: [] })
    assert.equal((await library.for(admin).render(admin, 'x', { who: 'a' })).commit, second)
    history = await versionHistory(library.site.line, library.for(admin).prompt(admin, 'x'), 1)
    assert.deepEqual(
      history.map(({ version, author, commit }) => ({ version, author, commit })),
      [{ version: 2, author: 'pat@example.com', commit: second }],
    )
    assert.deepEqual(await w.librarian.refresh(library), { changed: false, faults: [] })
  })

  it('keeps the author of a version when a later commit touches only the rest of the file', async (t) => {
    const folder = await folderWith(t, { 'prompts/x.md': sample() })
    await git(folder, 'init', '--quiet')
    const first = await commitAll(folder, 'first')
    const w = await world(t)
    await open(w, folder)
    await write(folder, { 'prompts/x.md': sample('description: New words') })
    const second = await commitAll(folder, 'words')
    const { library } = await open(w, folder)
    assert.equal((await library.site.line.version('x', 1)).commit, first)
    assert.equal((await library.for(admin).render(admin, 'x', { who: 'a' })).commit, second)
  })

  it('finds the commits of many files in one walk, in a site that is a part of a repository', async (t) => {
    const root = await folderWith(t, {})
    await git(root, 'init', '--quiet')
    const folder = join(root, 'site')
    const files = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`prompts/p${n}.md`, template('', `text ${n}`)]),
    )
    await write(folder, files)
    const first = await commitAll(root, 'many')
    await write(folder, { 'prompts/p7.md': template('', 'changed') })
    const second = await commitAll(root, 'one')
    const { library } = await open(await world(t), folder)
    assert.equal((await library.for(admin).render(admin, 'p3', {})).commit, first)
    assert.equal((await library.for(admin).render(admin, 'p7', {})).commit, second)
  })

  it('reads the versions before its time from git, so that a fresh state knows them', async (t) => {
    const folder = await folderWith(t, {})
    await git(folder, 'init', '--quiet')
    const commits: string[] = []
    for (const body of ['one', 'two', 'two', 'not: [a template', 'three']) {
      const broken = body.startsWith('not')
      const text = broken ? '---\ntitle: [\n---\nx' : sample(`description: D${commits.length}`, body)
      await write(folder, { 'prompts/x.md': text })
      commits.push(await commitAll(folder, body))
    }
    const w = await world(t)
    const { library } = await open(w, folder)
    assert.equal(library.for(admin).prompt(admin, 'x').version, 3)
    const history = await versionHistory(library.site.line, library.for(admin).prompt(admin, 'x'), 10)
    assert.deepEqual(
      history.map(({ version, commit }) => [version, commits.indexOf(commit!)]),
      [
        [3, 4],
        [2, 1],
        [1, 0],
      ],
    )
    assert.match((await library.site.line.version('x', 1)).source, /\none\n$/)
  })

  it('counts commits and nothing else: edits that are looked at have no number', async (t) => {
    const folder = await folderWith(t, { 'prompts/x.md': sample('', 'one') })
    await git(folder, 'init', '--quiet')
    await commitAll(folder, 'one')
    const w = await world(t)
    const now = async (body: string): Promise<number | null> => versionAfter(w, folder, sample('', body))
    await open(w, folder)
    // Two commits while nobody looked.
    await write(folder, { 'prompts/x.md': sample('', 'two') })
    await commitAll(folder, 'two')
    await write(folder, { 'prompts/x.md': sample('', 'three') })
    await commitAll(folder, 'three')
    assert.equal(await now('three'), 3)
    assert.deepEqual([await now('four'), await now('five')], [null, null])
    await commitAll(folder, 'five')
    assert.deepEqual([await now('five'), await now('six'), await now('five')], [4, null, 4])
    // Words that are no part of a version do not take the number away.
    assert.equal(await versionAfter(w, folder, sample('description: D', 'five')), 4)
    const { library } = await open(w, folder)
    const history = await library.site.line.history('x', 10)
    assert.deepEqual(
      history.map(({ number, source }) => [number, source.trim().split('\n').at(-1)]),
      [
        [4, 'five'],
        [3, 'three'],
        [2, 'two'],
        [1, 'one'],
      ],
    )
  })

  it('is the same on every machine, after a restart and with an empty state, whatever was looked at', async (t) => {
    const folder = await folderWith(t, { 'prompts/x.md': sample('', 'one') })
    await git(folder, 'init', '--quiet', '-b', 'main')
    await commitAll(folder, 'one')
    const watching = await world(t)
    for (const body of ['draft', 'draft 2', 'two']) {
      await write(folder, { 'prompts/x.md': sample('', body) })
      await open(watching, folder)
    }
    await commitAll(folder, 'two')
    await git(folder, 'mv', 'prompts/x.md', 'prompts/moved.md')
    await write(folder, { 'prompts/moved.md': sample('prompt_id: x', 'two') })
    await commitAll(folder, 'moved')
    // A side branch is one step of the branch that it is merged into.
    await git(folder, 'checkout', '--quiet', '-b', 'side')
    for (const body of ['three', 'four']) {
      await write(folder, { 'prompts/moved.md': sample('prompt_id: x', body) })
      await commitAll(folder, body)
    }
    await git(folder, 'checkout', '--quiet', 'main')
    await git(folder, 'merge', '--quiet', '--no-ff', '-m', 'merge', 'side')
    const clone = await folderWith(t, {})
    await git(clone, 'clone', '--quiet', folder, 'site')
    const seen = await Promise.all(
      [
        await open(watching, folder),
        await open({ librarian: watching.again() }, folder),
        await open(await world(t), folder),
        await open(await world(t), join(clone, 'site')),
      ].map(async ({ library }) => ({
        number: library.site.templates.get('x')!.version,
        history: await library.site.line.history('x', 10),
        first: (await library.site.line.version('x', 1)).source,
      })),
    )
    assert.deepEqual(
      [seen[0]!.number, seen[0]!.history.map(({ source }) => source.trim().split('\n').at(-1))],
      [3, ['four', 'two', 'one']],
    )
    for (const other of seen.slice(1)) assert.deepEqual(other, seen[0])
  })

  it('survives a history that was rewritten', async (t) => {
    const folder = await folderWith(t, { 'prompts/x.md': sample('', 'one') })
    await git(folder, 'init', '--quiet')
    await commitAll(folder, 'one')
    const w = await world(t)
    await open(w, folder)
    await write(folder, { 'prompts/x.md': sample('', 'other') })
    await git(folder, 'add', '--all')
    await git(folder, 'commit', '--quiet', '--amend', '-m', 'rewritten')
    const { library } = await open(w, folder)
    assert.equal(library.for(admin).prompt(admin, 'x').version, 1)
    assert.equal((await library.site.line.version('x', 1)).commit, await git(folder, 'rev-parse', 'HEAD'))
    await assert.rejects(library.site.line.version('x', 2), { code: 'not_found' })
  })

  it('compares the working tree with a revision', async (t) => {
    const folder = await folderWith(t, {
      'prompts/x.md': sample(),
      'prompts/gone.md': template('owner: sales@example.com'),
      'prompts/same.md': template(''),
      'prompts/old.md': template('status: Archived\nowner: sales@example.com'),
    })
    await git(folder, 'init', '--quiet')
    await commitAll(folder, 'first')
    await rm(join(folder, 'prompts/gone.md'))
    await write(folder, {
      'prompts/x.md': sample('description: D'),
      'prompts/new.md': template(''),
      'prompts/old.md': template('owner: sales@example.com', 'again'),
    })
    const w = await world(t)
    const { library } = await open(w, folder)
    const { reading, faults } = await w.librarian.readAt(library, 'HEAD')
    assert.deepEqual(faults, [])
    const differences = libraryDifference(reading, library.site.reading, { before: 'HEAD', after: 'site' })
    assert.deepEqual(
      differences.map(({ id, kind, newVersion, status }) => ({ id, kind, newVersion, status })),
      [
        { id: 'gone', kind: 'removed', newVersion: false, status: undefined },
        { id: 'new', kind: 'added', newVersion: true, status: undefined },
        {
          id: 'old',
          kind: 'changed',
          newVersion: true,
          status: { from: 'Archived', to: 'Published', allowed: false },
        },
        { id: 'x', kind: 'changed', newVersion: false, status: undefined },
      ],
    )
    assert.match(
      differences[3]!.diff,
      /^--- HEAD:prompts\/x\.md\n\+\+\+ site:prompts\/x\.md\n[\s\S]*\n\+description: D\n/,
    )
    await assert.rejects(w.librarian.readAt(library, 'nowhere'), { code: 'not_found' })
  })
})

describe('§3.3 status', () => {
  it('moves from Draft to Published to Deprecated to Archived, and back to Draft from anywhere', () => {
    const statuses = ['Draft', 'Published', 'Deprecated', 'Archived'] as const
    const allowed = statuses.flatMap((from) =>
      statuses.filter((to) => from !== to && isStatusStep(from, to)).map((to) => `${from}→${to}`),
    )
    assert.deepEqual(allowed, [
      'Draft→Published',
      'Published→Draft',
      'Published→Deprecated',
      'Deprecated→Draft',
      'Deprecated→Archived',
      'Archived→Draft',
    ])
  })

  it('warns of another move, once, and keeps serving', async (t) => {
    const folder = await folderWith(t, {
      'prompts/x.md': template('status: Archived\nowner: sales@example.com'),
    })
    const w = await world(t)
    assert.deepEqual((await open(w, folder)).warnings, [])
    await write(folder, { 'prompts/x.md': template('owner: sales@example.com') })
    assert.deepEqual((await open(w, folder)).warnings, [
      'prompts/x.md:3:9 status: went from Archived to Published; the order is Draft, Published, Deprecated, Archived, or back to Draft',
    ])
    assert.deepEqual((await open(w, folder)).warnings, [])
  })
})
