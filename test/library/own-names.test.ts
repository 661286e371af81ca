/** Drafts live in their person's own names until they are offered. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import * as fc from '../helpers/random.ts'
import { mayGet } from '../../src/library/access.ts'
import { folderOfPerson, promptNameFor, templateId } from '../../src/library/writing/own-names.ts'
import type { Channels } from '../../src/library/versions/channels.ts'
import { fileChanges, versionHistory } from '../../src/library/versions/history.ts'
import { PromptWriter } from '../../src/library/writing/writing.ts'
import { fileDigest, readSite } from '#site/read-site.ts'
import {
  as,
  check,
  commitAll,
  endings,
  folderWith,
  git,
  open,
  openWith,
  packageFolder,
  template,
  unbounded,
  world,
  write,
} from './library-site.ts'

const [admin, sales, hr, beta] = ['admin', 'sales', 'hr', 'beta'].map((name) =>
  as(`${name}@example.com`),
) as [ReturnType<typeof as>, ReturnType<typeof as>, ReturnType<typeof as>, ReturnType<typeof as>]
const own = ({ user }: typeof sales, body: string, lines = ''): string =>
  template(`owner: ${user}\nstatus: Draft\nvisibility: Private\n${lines}`, body)
const folderOf = ({ user }: typeof sales): string => `prompts/users/${user}`

async function desk(t: TestContext, files: Record<string, string>, inGit = true) {
  const folder = await folderWith(t, files)
  if (inGit) {
    await git(folder, 'init', '--quiet')
    await commitAll(folder, 'first')
  }
  const w = await world(t)
  const builtIns = await readSite(packageFolder)
  let library!: Channels
  const reload = async (): Promise<void> => {
    library = (await open(w, folder, { builtIns })).library
  }
  await reload()
  const writer = new PromptWriter({
    ...unbounded,
    folder,
    library: () => library,
    audit: w.parts.audit,
    commits: () => inGit,
    isPulled: () => false,
    reload,
  })
  return { folder, writer, reload, world: w, library: () => library.site, channels: () => library }
}

describe('drafts of several people under one name', () => {
  it('are each their own: an id was occupied for all by the first, who was told to nobody', async (t) => {
    const d = await desk(t, {})
    for (const [person, body] of [
      [sales, 'Of sales'],
      [hr, 'Of hr'],
    ] as const) {
      const made = await d.writer.create(person, 'letter', { text: own(person, body), note: '' })
      assert.deepEqual([made.prompt_id, made.file], ['letter', `${folderOf(person)}/letter.md`])
    }
    const library = d.library()
    assert.equal((await library.render(sales, 'letter', {})).text.trim(), 'Of sales')
    assert.equal((await library.render(hr, 'letter', {})).text.trim(), 'Of hr')
    assert.throws(() => library.prompt(beta, 'letter'), { code: 'not_found' })
    for (const other of [hr, beta])
      assert.throws(() => library.prompt(other, 'sales@example.com:letter'), {
        code: 'not_found',
        message: /^there is no prompt "sales@example\.com:letter"$/,
      })
    // For a System Manager every one is there, by whose it is.
    assert.equal(library.prompt(admin, 'sales@example.com:letter').owner, sales.user)
    assert.throws(() => library.prompt(admin, 'letter'), { code: 'not_found' })
    const { usage } = d.world.librarian
    assert.equal((await usage.of('prompt', 'sales@example.com:letter')).count, 1)
    // What one wrote is in nobody else's history.
    await d.writer.edit(sales, 'letter', {
      text: own(sales, 'Again of sales'),
      began: fileDigest(d.library().read('sales@example.com:letter').document.bytes),
      note: '',
    })
    const [mine, theirs] = await Promise.all(
      [sales, hr].map((person) =>
        fileChanges(d.library().line, d.library().read(`${person.user}:letter`), 10),
      ),
    )
    assert.equal(mine!.length, 2)
    assert.deepEqual(
      theirs!.map(({ author }) => author),
      [hr.user],
    )
    assert.equal(d.library().prompt(sales, 'letter').version, 2)
    assert.equal(d.library().prompt(hr, 'letter').version, 1)
  })

  it('are listed to nobody from what was kept for another: whoever sees the same by another name sees another list', async (t) => {
    const mine = own(sales, 'Mine').replace('Draft', 'Published')
    const { library } = await openWith(t, { [`${folderOf(sales)}/letter.md`]: mine })
    assert.deepEqual(library.site.prompts(sales), library.site.prompts(admin))
    assert.notEqual(library.site.promptsDigest(sales), library.site.promptsDigest(admin))
    assert.equal(
      library.site.promptsDigest(admin),
      library.site.promptsDigest(as('x@example.com', [...admin.roles])),
    )
  })

  it('go before what others are offered under the name, for nobody but their owner', async (t) => {
    const d = await desk(t, {
      'prompts/letter.md': template('', 'For all'),
      'prompts/plain.md': template(
        'owner: sales@example.com\nvisibility: Private',
        'Kept where all names are',
      ),
    })
    for (const name of ['letter', 'sales_analysis'])
      await d.writer.create(sales, name, { text: own(sales, 'Of sales'), note: '' })
    const text = async (person: typeof sales, name: string): Promise<string> =>
      (await d.library().render(person, name, {})).text.trim()
    assert.equal(await text(sales, 'letter'), 'Of sales')
    assert.equal(await text(hr, 'letter'), 'For all')
    assert.equal(await text(sales, 'sales_analysis'), 'Of sales')
    assert.match(d.library().prompt(hr, 'sales_analysis').file, /^prompts\/sales-crm/)
    const names = (person: typeof sales): string[] =>
      d
        .library()
        .prompts(person)
        .map((one) => promptNameFor(person, one))
    assert.deepEqual(
      names(sales).filter((name) => ['letter', 'sales_analysis', 'plain'].includes(name)),
      ['plain', 'letter', 'sales_analysis'],
    )
    assert.equal(names(hr).filter((name) => name === 'letter').length, 1)
    // A copy or a named version takes no name that means something to its author.
    assert.equal((await d.writer.createVersion(sales, 'letter', '')).prompt_id, 'letter_v2')
    assert.equal((await d.writer.duplicate(sales, 'letter')).prompt_id, 'letter_copy_sales')
    const copy = await d.writer.duplicate(admin, 'sales@example.com:letter')
    assert.deepEqual(copy, {
      prompt_id: 'letter_copy_admin',
      file: `${folderOf(admin)}/letter_copy_admin.md`,
      commit: copy.commit,
    })
  })
})

describe('offering a draft', () => {
  it('claims the name for all and keeps its versions and its count; who comes later is refused and nothing is written', async (t) => {
    for (const inGit of [true, false]) {
      const d = await desk(t, {}, inGit)
      for (const person of [sales, hr])
        await d.writer.create(person, 'letter', { text: own(person, `Of ${person.user}`), note: '' })
      await d.library().render(sales, 'letter', {})
      const edit = (person: typeof sales, text: string): ReturnType<PromptWriter['edit']> =>
        d.writer.edit(admin, `${person.user}:letter`, {
          text,
          began: fileDigest(d.library().read(`${person.user}:letter`).document.bytes),
          note: '',
        })
      const offered = own(sales, 'Of all').replace('Draft', 'Published').replace('Private', 'Public')
      await assert.rejects(d.writer.edit(sales, 'letter', { text: offered, began: '', note: '' }), {
        code: 'forbidden',
        message: /only a System Manager offers/,
      })
      const made = await edit(sales, offered)
      assert.equal(made.prompt_id, 'letter')
      const library = d.library()
      for (const person of [sales, beta, admin])
        assert.equal(library.prompt(person, 'letter').owner, sales.user)
      assert.equal(library.prompt(beta, 'letter').version, 2)
      assert.equal((await versionHistory(library.line, library.prompt(beta, 'letter'), 9)).length, 2)
      assert.equal((await d.world.librarian.usage.of('prompt', library.prompt(beta, 'letter').id)).count, 1)
      // Hers is still hers.
      assert.equal(library.prompt(hr, 'letter').owner, hr.user)

      const file = join(d.folder, folderOf(hr), 'letter.md')
      const before = await readFile(file, 'utf8')
      await assert.rejects(edit(hr, before.replace('Private', 'Public').replace('Draft', 'Published')), {
        code: 'invalid',
        message: /"letter" is already used by/,
      })
      await assert.rejects(d.writer.create(admin, 'letter', { text: template(''), note: '' }), {
        message: /already used/,
      })
      assert.equal(await readFile(file, 'utf8'), before)
      assert.deepEqual(await endings(d.world.audited('prompt.edit')), ['denied', 'ok', 'error'])
    }
  })

  it('is told by check when it comes by git, and read in part as in whole', async (t) => {
    const files = {
      'prompts/letter.md': template(''),
      [`${folderOf(sales)}/letter.md`]: own(sales, 'Mine'),
    }
    const { library, world: w, folder } = await openWith(t, files)
    assert.equal(library.site.prompt(sales, 'letter').owner, sales.user)
    await write(folder, { [`${folderOf(sales)}/letter.md`]: own(sales, 'Mine').replace('Private', 'Public') })
    await assert.rejects(open(w, folder), /"letter" is already used by/)
    await write(folder, {
      [`${folderOf(sales)}/letter.md`]: own(sales, 'Mine', 'prompt_id: note').replace('Private', 'Public'),
    })
    const again = (await open(w, folder)).library.site
    assert.deepEqual(
      [again.find('', 'note')?.id, again.find('', 'letter')?.id],
      ['sales@example.com:note', 'letter'],
    )
    const { faults } = await check(t, {
      [`${folderOf(sales)}/letter.md`]: own(sales, 'Mine'),
      [`${folderOf(sales)}/deeper/letter.md`]: own(sales, 'Mine too'),
    })
    assert.match(faults.join(), /"letter" is already used by/)
  })
})

describe("a person's own folder", () => {
  it('is of one person, whatever their address is made of', () => {
    const users = [
      'a@x.example',
      'a@y.example',
      'a.b@x.example',
      'a_b@x.example',
      'ä@x.example',
      'a/b@x.example',
      'a*b@x.example',
      'a%2fb@x.example',
    ]
    const folders = users.map(folderOfPerson)
    assert.equal(new Set(folders).size, users.length)
    for (const folder of folders) assert.match(folder, /^prompts\/users\/[a-z0-9@._+%-]+$/)
    assert.equal(templateId('prompts/users/a@x.example/n.md', 'a@x.example', 'n'), 'a@x.example:n')
    // Neither what somebody else put there nor what stood in the folders of earlier releases.
    assert.equal(templateId('prompts/users/a@x.example/n.md', 'a@y.example', 'n'), 'n')
    assert.equal(templateId('prompts/users/a/n.md', 'a@x.example', 'n'), 'n')
  })

  it('changes nothing for what was written before there was one', async (t) => {
    const file = 'prompts/users/sales/letter.md'
    const d = await desk(t, { [file]: own(sales, 'Before') })
    const template = d.library().prompt(sales, 'letter')
    assert.deepEqual([template.id, template.version], ['letter', 1])
    assert.equal(d.library().prompt(admin, 'letter').id, 'letter')
    await d.writer.setStatus(sales, 'letter', 'Published')
    assert.match(await readFile(join(d.folder, file), 'utf8'), /status: Published/)
  })
})

describe('names in any library', () => {
  const persons = [sales, hr, beta, admin]
  const arbitrary = fc.array(
    fc.record({
      name: fc.constantFrom('a', 'b'),
      owner: fc.constantFrom(...persons),
      isOwn: fc.boolean(),
      visibility: fc.constantFrom('Private', 'Public'),
      status: fc.constantFrom('Draft', 'Published'),
    }),
    { minLength: 1, maxLength: 6 },
  )

  it('give whoever is listed one what is listed, and nobody what they may not get', async (t) => {
    const w = await world(t)
    let read = 0
    await fc.assert(
      fc.asyncProperty(arbitrary, async (templates) => {
        const files = Object.fromEntries(
          templates.map(({ name, owner, isOwn, visibility, status }, index) => [
            isOwn ? `${folderOf(owner)}/${index}.md` : `prompts/${index}.md`,
            template(
              `prompt_id: ${name}\nowner: ${owner.user}\nvisibility: ${visibility}\nstatus: ${status}`,
              `Text ${index}`,
            ),
          ]),
        )
        const folder = await folderWith(t, files)
        const opened = await open({ librarian: w.again() }, folder).catch((error: Error) => {
          assert.match(error.message, /is already used by/)
          return undefined
        })
        if (!opened) return
        read++
        const library = opened.library.site
        const asked = ['a', 'b', ...library.templates.keys()]
        for (const person of persons) {
          const listed = library.prompts(person)
          const names = listed.map((one) => promptNameFor(person, one))
          assert.equal(new Set(names).size, names.length)
          for (const [index, name] of names.entries())
            assert.equal(library.prompt(person, name), listed[index])
          for (const name of asked) {
            const found = library.find(person.user, name)
            if (found && mayGet(person, found)) assert.equal(library.prompt(person, name), found)
            else assert.throws(() => library.prompt(person, name), { code: 'not_found' })
          }
        }
      }),
      { numRuns: 60 },
    )
    assert.ok(read > 5, `${read} libraries were read`)
  })
})
