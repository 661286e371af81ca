import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readSite } from '#site/read-site.ts'
import { as, folderWith, open, template, world, write } from './library-site.ts'

const admin = as('admin@example.com')
const system = (body: string): string => template('is_system: 1', body)
const categories = (...ids: string[]): string =>
  `categories:\n${ids.map((id) => `  - { category_id: ${id}, category_name: ${id}, is_system: 1 }\n`).join('')}`

describe('§9.9 the migration of what is built in', () => {
  it('creates, updates and removes with the package, audits it once, and keeps counters and versions', async (t) => {
    const site = await folderWith(t, { 'prompts/own.md': template('', 'mine') })
    const packaged = await folderWith(t, {
      'prompts/a.md': system('a1'),
      'prompts/b.md': system('b1'),
      'prompts/categories.yaml': categories('one', 'two'),
      'prompts/not-system.md': template('', 'of the package, not built in'),
    })
    const w = await world(t)
    const first = await open(w, site, { builtIns: await readSite(packaged), packageVersion: '1.0.0' })
    assert.deepEqual(
      first.library
        .for(admin)
        .prompts(admin)
        .map(({ id }) => id),
      ['own', 'a', 'b'],
    )
    await first.library.for(admin).render(admin, 'a', {})
    await w.librarian.usage.flush()
    await open(w, site, { builtIns: await readSite(packaged), packageVersion: '1.0.0' })

    const newer = await folderWith(t, {
      'prompts/a.md': system('a2'),
      'prompts/c.md': system('c1'),
      'prompts/categories.yaml': categories('two', 'three'),
    })
    const restarted = { ...w, librarian: w.again() }
    const second = await open(restarted, site, { builtIns: await readSite(newer), packageVersion: '2.0.0' })
    assert.deepEqual(
      second.library
        .for(admin)
        .prompts(admin)
        .map(({ id }) => id),
      ['own', 'a', 'c'],
    )
    assert.equal(second.library.for(admin).prompt(admin, 'a').version, 2)
    assert.equal((await restarted.librarian.usage.of('prompt', 'a')).count, 1)
    assert.equal((await second.library.site.line.version('a', 2)).author, 'assistant-core 2.0.0')

    const events = (await w.audited('library.migrate')).sort((a, b) => a.seq - b.seq)
    assert.deepEqual(
      events.map(({ target, data }) => ({ target, data })),
      [
        {
          target: 'assistant-core 1.0.0',
          data: {
            created: ['prompt/a', 'prompt/b', 'category/one', 'category/two'],
            updated: [],
            removed: [],
          },
        },
        {
          target: 'assistant-core 2.0.0',
          data: {
            created: ['prompt/c', 'category/three'],
            updated: ['prompt/a'],
            removed: ['category/one', 'prompt/b'],
          },
        },
      ],
    )
    // What is obsolete is free again.
    await write(site, { 'prompts/b.md': template('', 'my own b') })
    const third = await open(restarted, site, { builtIns: await readSite(newer), packageVersion: '2.0.0' })
    assert.equal(third.library.for(admin).prompt(admin, 'b').isSystem, false)
  })

  it('needs no second reading when the site is the package itself', async (t) => {
    const folder = await folderWith(t, {
      'prompts/a.md': system('a'),
      'prompts/own.md': template('', 'mine'),
    })
    const w = await world(t)
    const { library } = await open(w, folder, { builtIns: await readSite(folder) })
    assert.deepEqual(
      library
        .for(admin)
        .prompts(admin)
        .map(({ id, isSystem }) => [id, isSystem]),
      [
        ['own', false],
        ['a', true],
      ],
    )
    assert.equal((await w.audited('library.migrate')).length, 1)
  })
})
