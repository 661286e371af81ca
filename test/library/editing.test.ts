import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Channels } from '../../src/library/versions/channels.ts'
import { fileChanges } from '../../src/library/versions/history.ts'
import { PromptWriter } from '../../src/library/writing/writing.ts'
import { fileDigest } from '#site/read-site.ts'
import {
  as,
  commitAll,
  endings,
  folderWith,
  git,
  open,
  template,
  world,
  write,
  unbounded,
} from './library-site.ts'

const admin = as('admin@example.com')
const sales = as('sales@example.com')
const hr = as('hr@example.com')
const first = template('owner: sales@example.com\n# Why it is here', 'Hello')
const file = 'prompts/x.md'

interface Wanted {
  readonly files?: Record<string, string>
  readonly commits?: boolean
  readonly channels?: Record<string, string>
}

async function desk(
  t: TestContext,
  { files = { [file]: first }, commits = true, channels = {} }: Wanted = {},
) {
  const folder = await folderWith(t, files)
  await git(folder, 'init', '--quiet', '--initial-branch=main')
  await commitAll(folder, 'first')
  for (const branch of Object.values(channels)) await git(folder, 'branch', branch)
  const w = await world(t)
  let library: Channels
  const reload = async (): Promise<void> => {
    library = (await open(w, folder, { channels })).library
  }
  await reload()
  const isPulled = (): boolean => false
  const parts = {
    folder,
    library: () => library,
    audit: w.parts.audit,
    commits: () => commits,
    isPulled,
    ...unbounded,
    reload,
  }
  const text = (): Promise<string> => readFile(join(folder, file), 'utf8')
  return {
    folder,
    reload,
    text,
    writer: new PromptWriter(parts),
    shower: new PromptWriter(parts, true),
    library: () => library,
    audited: w.audited,
    began: () => fileDigest(library.site.read('x').document.bytes),
  }
}

describe('editing a template', () => {
  it('commits what the person wrote in their name, with what they said of it, and in the line ends of the file', async (t) => {
    const d = await desk(t, { files: { [file]: first.replaceAll('\n', '\r\n') } })
    const edited = first.replace('Hello', 'Good day').replaceAll('\n', '\r\n')
    const written = await d.writer.edit(sales, 'x', {
      text: edited.replaceAll('\r\n', '\n'),
      began: d.began(),
      note: 'politer',
    })
    assert.equal(await d.text(), edited)
    assert.equal(
      await git(d.folder, 'log', '-1', '--format=%H|%an|%ae|%s'),
      `${written.commit}|Sam Sales|sales@example.com|prompts: politer (x)`,
    )
    assert.equal(d.library().for(sales).prompt(sales, 'x').version, 2)
    const [event] = await d.audited('prompt.edit')
    assert.deepEqual([event?.status, event?.user, event?.target], ['ok', sales.user, 'x'])
  })

  it('loses nothing when two people began with the same: the second is shown what the first wrote', async (t) => {
    const d = await desk(t)
    const began = d.began()
    const [mine, theirs] = [first.replace('Hello', 'Mine'), first.replace('Hello', 'Theirs')]
    const outcomes = await Promise.allSettled([
      d.writer.edit(sales, 'x', { text: mine, began, note: '' }),
      d.writer.edit(admin, 'x', { text: theirs, began, note: '' }),
    ])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    )
    assert.equal(await d.text(), mine)
    const { reason } = outcomes[1] as PromiseRejectedResult
    assert.equal(reason.code, 'conflict')
    assert.deepEqual(reason.data, { present: mine, digest: fileDigest(Buffer.from(mine)) })
    await d.writer.edit(admin, 'x', { text: theirs, began: reason.data.digest, note: '' })
    assert.equal(await d.text(), theirs)
  })

  it('never overwrites what came by another way and was not read yet, when restoring or publishing either', async (t) => {
    const d = await desk(t)
    const began = d.began()
    await write(d.folder, { [file]: first.replace('Hello', 'By hand') })
    for (const attempt of [
      d.writer.edit(sales, 'x', { text: first, began, note: '' }),
      d.writer.restore(sales, 'x', 1),
      d.writer.setStatus(sales, 'x', 'Deprecated'),
    ])
      await assert.rejects(attempt, { code: 'conflict', message: /changed by somebody else/ })
    assert.match(await d.text(), /By hand/)
  })

  it('refuses what would not leave a good site, each fault at its line, and writes nothing', async (t) => {
    const d = await desk(t)
    const bad = template(
      'owner: sales@example.com\ncategory: nowhere\nshared_with_roles: [Nobody]\nvisibility: Shared',
      'One\n{% if two %}',
    )
    await assert.rejects(
      d.writer.edit(sales, 'x', { text: bad, began: d.began(), note: '' }),
      (error: any) => {
        assert.equal(error.code, 'invalid')
        const places = error.data.faults.map(({ line, file: where }: any) => `${where}:${line}`)
        assert.deepEqual(new Set(places), new Set([`${file}:5`, `${file}:6`, `${file}:10`]))
        return true
      },
    )
    for (const [text, told] of [
      [first.replace('# Why', 'prompt_id: y\n# Why'), /it stays "x"/],
      [first.replace('owner: sales', 'owner: hr'), /a template stays its owner's/],
      [first.replace('Public', 'Nonsense'), /visibility/],
    ] as const)
      await assert.rejects(d.writer.edit(sales, 'x', { text, began: d.began(), note: '' }), { message: told })
    assert.equal(await d.text(), first)
    assert.equal(await git(d.folder, 'rev-list', '--count', 'HEAD'), '1')
    assert.deepEqual(await endings(d.audited('prompt.edit')), ['error', 'error', 'denied', 'error'])
  })

  it('is for the owner and System Managers, and a template that one may not see is not there', async (t) => {
    const d = await desk(t, {
      files: { [file]: first, 'prompts/hidden-one.md': first.replace('Published', 'Draft') },
    })
    const edit = { text: first, began: d.began(), note: '' }
    await assert.rejects(d.writer.edit(hr, 'x', edit), { code: 'forbidden' })
    for (const id of ['hidden-one', 'absent-one']) {
      await assert.rejects(d.writer.edit(hr, id, edit), {
        code: 'not_found',
        message: `there is no prompt "${id}"`,
      })
    }
  })

  it('is only shown where it is only to be shown, checked all the same', async (t) => {
    const d = await desk(t, { commits: false })
    const text = first.replace('Hello', 'Shown')
    const edit = { text, began: d.began(), note: '' }
    assert.deepEqual(await d.shower.edit(sales, 'x', edit), { prompt_id: 'x', file, commit: null, text })
    assert.match((await d.shower.setStatus(sales, 'x', 'Deprecated')).text!, /status: Deprecated/)
    await assert.rejects(d.shower.edit(hr, 'x', edit), { code: 'forbidden' })
    assert.equal(await d.text(), first)
    assert.deepEqual(await endings(d.audited('prompt.edit')), ['denied'])
  })
})

describe('making and publishing a template', () => {
  it('does not publish what other fields of its file repeat by name, which it changed without a word before', async (t) => {
    for (const front of ['status: &now Draft\ndescription: *now', '&now status: Draft\ndescription: *now']) {
      const named = template(`owner: sales@example.com\n${front}`, 'Hello').replace('status: Published\n', '')
      const d = await desk(t, { files: { [file]: named } })
      await assert.rejects(d.writer.setStatus(sales, 'x', 'Published'), {
        code: 'conflict',
        message: `${file}: status has a name (&now) by which other fields repeat it; edit the text`,
      })
      assert.equal(await d.text(), named)
      assert.deepEqual(await endings(d.audited('prompt.status')), ['error'])
    }
  })

  it('makes a draft of the person, publishes it in the order of statuses, and tells every commit', async (t) => {
    const d = await desk(t)
    const draft = template('owner: hr@example.com\nstatus: Draft\nvisibility: Private', 'New')
    const made = await d.writer.create(hr, 'letter', { text: draft, note: '' })
    assert.equal(made.file, 'prompts/users/hr@example.com/letter.md')
    await assert.rejects(d.writer.create(hr, 'letter', { text: draft, note: '' }), {
      message: /letter\.md|already used|exists already/,
    })
    await assert.rejects(d.writer.setStatus(hr, 'letter', 'Archived'), { code: 'invalid' })
    await d.writer.setStatus(hr, 'letter', 'Published')
    const changes = await fileChanges(
      d.library().site.line,
      d.library().site.read('hr@example.com:letter'),
      10,
    )
    assert.deepEqual(
      changes.map(({ version, begins, subject, author }) => [version, begins, subject, author]),
      [
        [1, false, 'prompts: letter is Published', hr.user],
        [1, true, 'prompts: create (letter)', hr.user],
      ],
    )
    assert.match(changes[0]!.diff, /-status: Draft\n\+status: Published/)
    assert.equal(changes[1]!.diff, '')
  })

  it('leaves it to System Managers to offer a template to others', async (t) => {
    const d = await desk(t, {
      files: { [file]: first.replace('Public', 'Private') },
    })
    const wider = first.replace('Private', 'Public')
    for (const attempt of [
      d.writer.create(hr, 'letter', { text: first.replace('sales', 'hr'), note: '' }),
      d.writer.edit(sales, 'x', { text: wider, began: d.began(), note: '' }),
    ])
      await assert.rejects(attempt, { code: 'forbidden', message: /only a System Manager/ })
    await d.writer.edit(admin, 'x', { text: wider, began: d.began(), note: '' })
    await d.writer.edit(sales, 'x', {
      text: wider.replace('Hello', 'Still public'),
      began: d.began(),
      note: '',
    })
    await assert.rejects(stat(join(d.folder, 'prompts/users/hr@example.com/letter.md')), { code: 'ENOENT' })
  })
})

describe('writing onto the branch of a channel', () => {
  const channels = { beta: 'next' }
  const beta = as('beta@example.com')

  it('commits there and leaves the working tree, its index and the other lines alone', async (t) => {
    const d = await desk(t, { channels })
    const text = first.replace('Hello', 'Tried first')
    const head = await git(d.folder, 'rev-parse', 'main')
    assert.equal(d.library().writtenLine(d.library().lineOf(beta)), 'beta')
    const { commit } = await d.writer.edit(sales, 'x', { text, began: d.began(), note: '' }, 'beta')
    assert.equal(await git(d.folder, 'rev-parse', 'next'), commit)
    assert.equal(await git(d.folder, 'rev-parse', 'main'), head)
    assert.equal(await git(d.folder, 'status', '--porcelain'), '')
    assert.equal(await git(d.folder, 'show', `next:${file}`), text.trim())
    assert.equal(await d.text(), first)
    assert.match((await d.library().for(beta).render(beta, 'x', {})).text, /Tried first/)
    assert.match((await d.library().for(sales).render(sales, 'x', {})).text, /Hello/)
    const [event] = await d.audited('prompt.edit')
    assert.equal(event?.data?.['branch'], 'next')
    await d.writer.restore(sales, 'x', 1, 'beta')
    assert.equal(await git(d.folder, 'show', `next:${file}`), first.trim())
    const copy = await d.writer.create(sales, 'mine', { text: draftOf(sales.user), note: '' }, 'beta')
    assert.equal(await git(d.folder, 'show', `next:${copy.file}`), draftOf(sales.user).trim())
  })

  it('refuses when the branch holds another text than was begun with, and where it is no branch', async (t) => {
    const d = await desk(t, { channels: { ...channels, 'HR User': 'v1' } })
    await git(d.folder, 'branch', '-D', 'v1')
    await git(d.folder, 'tag', 'v1')
    await d.reload()
    const edit = { text: first, began: fileDigest(Buffer.from('other')), note: '' }
    await assert.rejects(d.writer.edit(sales, 'x', edit, 'beta'), { code: 'conflict' })
    assert.equal(d.library().writtenLine('HR User'), 'site')
    for (const line of ['HR User', 'nobody'])
      await assert.rejects(d.writer.edit(sales, 'x', edit, line), { code: 'not_found' })
    assert.equal(await git(d.folder, 'rev-list', '--count', '--all'), '1')
  })

  it('writes the site where the channel stands on the branch that is checked out', async (t) => {
    const d = await desk(t, { channels: { beta: 'next' } })
    await git(d.folder, 'checkout', '--quiet', 'next')
    await d.reload()
    assert.equal(d.library().writtenLine('beta'), 'site')
  })
})

function draftOf(owner: string): string {
  return template(`owner: ${owner}\nstatus: Draft\nvisibility: Private`, 'New')
}
