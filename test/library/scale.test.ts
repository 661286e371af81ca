import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Channels } from '../../src/library/versions/channels.ts'
import { emptyCache, readSite } from '#site/read-site.ts'
import { openSite } from '#site/site.ts'
import type { Fault } from '#site/site-files.ts'
import { testLog } from '../../packages/state/test/state-folder.ts'
import {
  as,
  commitAll,
  folderWith,
  git,
  lacksNothing,
  links,
  source,
  template,
  world,
  write,
} from './library-site.ts'

const many = 900

function numbered(index: number, more = ''): string {
  const visibility = ['Public', 'Private', 'Shared\nshared_with_roles: [HR User]'][index % 3]!
  return template(
    `visibility: ${visibility}\nowner: ${index % 2 === 0 ? 'hr' : 'beta'}@example.com\narguments:\n  - { argument_name: n, argument_type: number, default_value: ${index} }`,
    `Number {{ n }}. Call \`list_documents\`.${more}\n${'{% if n %}text {% endif %}'.repeat(5)}`,
  )
}

describe('a large library', () => {
  it('reads again only what changed, and answers lists without looking at what is hidden', async (t) => {
    const files = Object.fromEntries(
      Array.from({ length: many }, (_, index) => [`prompts/d${index % 20}/p${index}.md`, numbered(index)]),
    )
    const folder = await folderWith(t, files)
    const { librarian } = await world(t)
    const cache = emptyCache()
    const load = async (): Promise<Channels> => {
      const faults: Fault[] = []
      const read = await librarian.read(await readSite(folder, { cache }), faults, [], source())
      assert.deepEqual(faults, [])
      return librarian.open(read, links, lacksNothing)
    }
    const before = await load()
    assert.equal(before.site.templates.size, many)
    const sales = as('sales@example.com')
    const list = before.for(sales).prompts(sales)
    assert.equal(list.length, Math.ceil(many / 3))
    assert.equal(
      before
        .for({ ...sales, user: 'another@example.com' })
        .prompts({ ...sales, user: 'another@example.com' }),
      list,
      'one list for one role set',
    )

    await writeFile(join(folder, 'prompts/d7/p7.md'), numbered(7, ' Changed.'))
    const after = await load()
    assert.notEqual(
      after.for(as('beta@example.com')).promptsDigest(as('beta@example.com')),
      before.for(as('beta@example.com')).promptsDigest(as('beta@example.com')),
    )
    assert.equal(after.for(as('beta@example.com')).prompt(as('beta@example.com'), 'p7').version, 2)
    for (const [id, read] of after.site.reading.templates) {
      const same =
        read === before.site.reading.templates.get(id) &&
        after.site.templates.get(id) === before.site.templates.get(id)
      assert.equal(same, id !== 'p7', id)
    }
  })
})

describe('a reload storm', () => {
  it('fails no request, whatever is written meanwhile, and ends with what stands in the files', async (t) => {
    const count = 150
    const texts = (word: string): Record<string, string> =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          `prompts/p${index}.md`,
          template('', `${word} ${index}`),
        ]),
      )
    const folder = await folderWith(t, texts('main'))
    await git(folder, 'init', '--quiet', '-b', 'main')
    await commitAll(folder, 'main')
    await git(folder, 'checkout', '--quiet', '-b', 'other')
    await write(folder, texts('other'))
    await commitAll(folder, 'other')
    const { librarian, clock } = await world(t)
    const site = await openSite<Channels>({
      folder,
      clock,
      log: testLog(),
      debounceMs: 10,
      build: async (files) => {
        const faults: Fault[] = []
        const warnings: Fault[] = []
        const read = await librarian.read(files, faults, warnings, source())
        return faults.length > 0
          ? { faults, warnings }
          : { snapshot: await librarian.open(read, links, lacksNothing), faults, warnings }
      },
    })
    t.after(() => site.close())

    const sales = as('sales@example.com')
    let requests = 0
    const storm = { on: true }
    const asking = Array.from({ length: 4 }, async () => {
      while (storm.on) {
        const library = site.current()
        const list = library.for(sales).prompts(sales)
        assert.equal(list.length, count)
        const { id } = list[requests % count]!
        const { text } = await library.for(sales).render(sales, id, {})
        assert.match(text, /^(main|other|late) \d+$/)
        requests++
        await setTimeout(1)
      }
    })
    for (let round = 0; round < 4; round++) {
      await git(folder, 'checkout', '--quiet', round % 2 === 0 ? 'main' : 'other')
      await setTimeout(40)
      // A broken edit keeps the last good library.
      await writeFile(join(folder, 'prompts/p3.md'), '---\ntitle: [\n')
      await setTimeout(40)
      await git(folder, 'checkout', '--quiet', '--', 'prompts/p3.md')
    }
    await writeFile(join(folder, 'prompts/p3.md'), template('', 'late 3'))
    await site.reload('the end of the storm')
    storm.on = false
    await Promise.all(asking)
    assert.ok(requests > 20, `${requests} requests`)
    assert.equal((await site.current().for(sales).render(sales, 'p3', {})).text, 'late 3')
    assert.equal((await site.current().for(sales).render(sales, 'p4', {})).text, 'other 4')
  })
})
