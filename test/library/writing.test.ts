import assert from 'node:assert/strict'
import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Channels } from '../../src/library/versions/channels.ts'
import { PromptWriter } from '../../src/library/writing/writing.ts'
import { readSite } from '#site/read-site.ts'
import {
  as,
  commitAll,
  endings,
  folderWith,
  git,
  open,
  packageFolder,
  template,
  world,
  write,
  type World,
  unbounded,
} from './library-site.ts'

const admin = as('admin@example.com')
const sales = as('sales@example.com')
const hr = as('hr@example.com')

interface Desk {
  readonly writer: PromptWriter
  readonly library: () => Channels
  readonly world: World
  readonly folder: string
  readonly reload: () => Promise<void>
}

async function desk(
  t: TestContext,
  files: Record<string, string>,
  commits = false,
  prepare?: (folder: string) => Promise<unknown>,
): Promise<Desk> {
  const folder = await folderWith(t, files)
  await prepare?.(folder)
  const w = await world(t)
  const builtIns = await readSite(packageFolder)
  let library = (await open(w, folder, { builtIns })).library
  const reload = async (): Promise<void> => {
    library = (await open(w, folder, { builtIns })).library
  }
  const writer = new PromptWriter({
    folder,
    library: () => library,
    audit: w.parts.audit,
    commits: () => commits,
    isPulled: () => false,
    ...unbounded,
    reload,
  })
  return { writer, library: () => library, world: w, folder, reload }
}

const first = template(
  `# Why this prompt exists
owner: sales@example.com
tags: [keep] # and me
arguments:
  - argument_name: who
    argument_type: select
    allowed_values: a, b
    default_value: a`,
  'Hello {{ who }}',
)
const second = template(
  'owner: sales@example.com\ntitle: New title\n# A remark\nrendering_engine: Raw',
  'Something else',
)

describe('§9.6 restore_version', () => {
  it('writes content, engine and arguments back, keeps everything else, and makes a new version', async (t) => {
    const d = await desk(t, { 'prompts/x.md': first })
    await write(d.folder, { 'prompts/x.md': second })
    await d.reload()
    assert.equal(d.library().for(sales).prompt(sales, 'x').version, 2)

    await chmod(join(d.folder, 'prompts/x.md'), 0o660)
    assert.deepEqual(await d.writer.restore(sales, 'x', 1), {
      prompt_id: 'x',
      file: 'prompts/x.md',
      commit: null,
    })
    const text = await readFile(join(d.folder, 'prompts/x.md'), 'utf8')
    // Its own words stay, and what comes back is as its author wrote it.
    const rows = first.slice(first.indexOf('arguments:'), first.indexOf('\n---\n', 5) + 1)
    assert.equal(
      text,
      second.replace('rendering_engine: Raw\n', rows).replace('Something else', 'Hello {{ who }}'),
    )
    assert.equal((await stat(join(d.folder, 'prompts/x.md'))).mode & 0o777, 0o660)
    const restored = d.library().for(sales).prompt(sales, 'x')
    assert.equal(restored.version, 3)
    assert.deepEqual(
      restored.arguments.map(({ name, type, allowedValues, default: value }) => ({
        name,
        type,
        allowedValues,
        value,
      })),
      [{ name: 'who', type: 'select', allowedValues: ['a', 'b'], value: 'a' }],
    )
    assert.equal((await d.library().for(sales).render(sales, 'x', {})).text.trim(), 'Hello a')
    const [event] = await d.world.audited('prompt.restore')
    assert.deepEqual(
      [event?.user, event?.target, event?.data],
      ['sales@example.com', 'x', { version: 1, from: 2, file: 'prompts/x.md' }],
    )
  })

  it('leaves arguments as their author wrote them when none of them comes back', async (t) => {
    const d = await desk(t, { 'prompts/x.md': first })
    await write(d.folder, { 'prompts/x.md': first.replace('Hello', 'Good day') })
    await d.reload()
    await d.writer.restore(sales, 'x', 1)
    const text = await readFile(join(d.folder, 'prompts/x.md'), 'utf8')
    assert.match(text, /\n {4}allowed_values: a, b\n {4}default_value: a\n[^]*\nHello \{\{ who \}\}\n$/)
  })

  it('brings back the bytes of the commit, in YAML and with the line ends of Windows', async (t) => {
    const yaml = (content: string, tail = ''): string =>
      `# odd   spacing\ntitle:   "X"\nstatus: Published\nvisibility: Public\nowner: sales@example.com\narguments: [ {argument_name: who} ]   # one\ntemplate_content: |-\n    ${content} {{ who }}\n${tail}`
    const files = {
      'prompts/x.md': first.replaceAll('\n', '\r\n'),
      'prompts/y.yaml': yaml('Hello', 'tags: [a]\n'),
    }
    const d = await desk(t, files, false, async (folder) => {
      await git(folder, 'init', '--quiet')
      await commitAll(folder, 'first')
    })
    const bytes = async (file: string): Promise<string> => readFile(join(d.folder, file), 'utf8')
    await write(d.folder, {
      'prompts/x.md': files['prompts/x.md']
        .replace('Hello', 'Good day')
        .replace('values: a, b', 'values: a, b, c'),
      'prompts/y.yaml': files['prompts/y.yaml']
        .replace('Hello', 'Bye')
        .replace('[ {argument_name: who} ]   # one', '\n- argument_name: who'),
    })
    await commitAll(d.folder, 'second')
    await d.reload()
    for (const id of ['x', 'y']) {
      assert.equal(d.library().site.templates.get(id)!.version, 2)
      await d.writer.restore(sales, id, 1)
    }
    assert.equal(await bytes('prompts/x.md'), files['prompts/x.md'])
    assert.equal(await bytes('prompts/y.yaml'), files['prompts/y.yaml'])
    assert.equal(d.library().site.templates.get('x')!.version, null, 'not committed yet')
    await commitAll(d.folder, 'third')
    await d.reload()
    assert.equal(d.library().site.templates.get('x')!.version, 3)
  })

  it('is for owners and System Managers; others change nothing', async (t) => {
    const d = await desk(t, {
      'prompts/x.md': first,
      'prompts/draft.md': first.replace('Published', 'Draft'),
    })
    await write(d.folder, { 'prompts/x.md': second })
    await d.reload()
    await assert.rejects(d.writer.restore(hr, 'x', 1), {
      code: 'forbidden',
      message: /only its owner or a System Manager/,
    })
    await assert.rejects(d.writer.restore(hr, 'draft', 1), { code: 'not_found' })
    await assert.rejects(d.writer.restore(admin, 'sales_analysis', 1), {
      code: 'forbidden',
      message: /built in/,
    })
    await assert.rejects(d.writer.restore(sales, 'x', 9), {
      code: 'not_found',
      message: 'prompt "x" has no version 9',
    })
    assert.equal(await readFile(join(d.folder, 'prompts/x.md'), 'utf8'), second)
    assert.deepEqual(await endings(d.world.audited('prompt.restore')), [
      'denied',
      'denied',
      'denied',
      'denied',
    ])
    await d.writer.restore(admin, 'x', 1)
    assert.equal(d.library().for(sales).prompt(sales, 'x').engine, 'Jinja2')
  })

  it('is refused to a client that its user allowed to read only', async (t) => {
    const d = await desk(t, { 'prompts/x.md': first })
    await write(d.folder, { 'prompts/x.md': second })
    await d.reload()
    const narrow = { ...sales, readOnly: true } as const
    const refusal = { code: 'forbidden', message: /allowed this client to read only/ }
    await assert.rejects(d.writer.restore(narrow, 'x', 1), refusal)
    await assert.rejects(d.writer.duplicate(narrow, 'x'), refusal)
    assert.equal(await readFile(join(d.folder, 'prompts/x.md'), 'utf8'), second)
    assert.deepEqual(await endings(d.world.audited('prompt.restore')), ['denied'])
    assert.deepEqual(await endings(d.world.audited('prompt.duplicate')), ['denied'])
    await d.writer.restore(sales, 'x', 1)
  })

  it('refuses on a read-only site with the reason, and changes nothing', async (t) => {
    const d = await desk(t, { 'prompts/x.md': first })
    await write(d.folder, { 'prompts/x.md': second })
    await d.reload()
    const asNobody = process.geteuid?.() === 0
    await chmod(d.folder, 0o755)
    if (!asNobody) await chmod(join(d.folder, 'prompts'), 0o555)
    // Root writes everywhere, so it becomes nobody for a moment.
    if (asNobody) process.seteuid!(65_534)
    try {
      await assert.rejects(d.writer.restore(sales, 'x', 1), {
        code: 'forbidden',
        message: /^the site is read-only: .*; change prompts\/x\.md where the site comes from$/,
      })
    } finally {
      if (asNobody) process.seteuid!(0)
      else await chmod(join(d.folder, 'prompts'), 0o755)
    }
    assert.equal(await readFile(join(d.folder, 'prompts/x.md'), 'utf8'), second)
    assert.deepEqual(await endings(d.world.audited('prompt.restore')), ['denied'])
  })

  it('does not follow a link out of the site', async (t) => {
    const outside = await folderWith(t, {})
    const d = await desk(t, { 'prompts/x.md': template('') })
    await mkdir(join(d.folder, 'prompts'), { recursive: true })
    await symlink(outside, join(d.folder, 'prompts/users'))
    await assert.rejects(d.writer.duplicate(sales, 'x'), {
      code: 'forbidden',
      message: /not be inside the prompts/,
    })
    await assert.rejects(stat(join(outside, 'sales')))
  })
})

describe('§9.7 named versions', () => {
  it('copy a template to the next free _v2, _v3, … with notes, as a draft of the one who asked', async (t) => {
    const d = await desk(t, { 'prompts/area/x.md': first })
    assert.deepEqual(await d.writer.createVersion(sales, 'x', 'shorter'), {
      prompt_id: 'x_v2',
      file: 'prompts/area/x_v2.md',
      commit: null,
    })
    const copy = d.library().for(sales).prompt(sales, 'x_v2')
    assert.deepEqual(
      [copy.title, copy.status, copy.owner, copy.parent, copy.versionNotes, copy.visibility, copy.version],
      ['A title (v2)', 'Draft', 'sales@example.com', 'x', 'shorter', 'Public', 1],
    )
    assert.match(await readFile(join(d.folder, 'prompts/area/x_v2.md'), 'utf8'), /# Why this prompt exists\n/)
    assert.equal((await d.writer.createVersion(sales, 'x', '')).prompt_id, 'x_v3')
    assert.equal((await d.writer.createVersion(sales, 'x_v2', '')).prompt_id, 'x_v4')
    await assert.rejects(d.writer.createVersion(hr, 'x', ''), { code: 'forbidden' })
    await assert.rejects(d.writer.createVersion(hr, 'x_v2', ''), { code: 'not_found' })
    assert.equal((await d.writer.createVersion(admin, 'sales_analysis', '')).prompt_id, 'sales_analysis_v2')
    assert.equal(d.library().for(admin).prompt(admin, 'sales_analysis_v2').isSystem, false)
  })
})

describe('§9.8 private duplicates', () => {
  it('are made of anything one sees, built-ins too, as often as one likes', async (t) => {
    const d = await desk(t, {
      'prompts/x.md': template('visibility: Shared\nshared_with_roles: [HR User]\nowner: sales@example.com'),
      'prompts/y.yaml':
        'title: Y\nstatus: Published\nvisibility: Public\nrendering_engine: Raw\ntemplate_content: why\n',
    })
    const made = [
      await d.writer.duplicate(hr, 'x'),
      await d.writer.duplicate(hr, 'x'),
      await d.writer.duplicate(hr, 'sales_analysis'),
      await d.writer.duplicate(hr, 'y'),
    ]
    assert.deepEqual(
      made.map(({ prompt_id, file }) => `${prompt_id} ${file}`),
      [
        'x_copy_hr prompts/users/hr@example.com/x_copy_hr.md',
        'x_copy_hr_2 prompts/users/hr@example.com/x_copy_hr_2.md',
        'sales_analysis_copy_hr prompts/users/hr@example.com/sales_analysis_copy_hr.md',
        'y_copy_hr prompts/users/hr@example.com/y_copy_hr.yaml',
      ],
    )
    const copy = d.library().for(hr).prompt(hr, 'sales_analysis_copy_hr')
    assert.deepEqual(
      [copy.title, copy.visibility, copy.status, copy.isSystem, copy.owner, copy.sharedWithRoles],
      ['Sales analysis (My Copy)', 'Private', 'Draft', false, 'hr@example.com', []],
    )
    assert.match(
      (await d.library().for(hr).render(hr, copy.id, { analysis_focus: 'revenue_trends' })).text,
      /Analyse our sales/,
    )
    assert.throws(() => d.library().for(sales).prompt(sales, copy.id), { code: 'not_found' })
    await assert.rejects(d.writer.duplicate(as('beta@example.com'), 'x'), { code: 'not_found' })
  })

  it('belong to people: the operator leaves owners as they are', async (t) => {
    const d = await desk(t, { 'prompts/x.md': first, 'prompts/y.md': template('') })
    const operator = as('system', ['System Manager', 'Assistant User'])
    await assert.rejects(d.writer.duplicate(operator, 'x'), { code: 'invalid', message: /is for a user/ })
    await d.writer.createVersion(operator, 'x', '')
    await d.writer.createVersion(operator, 'y', '')
    assert.equal(d.library().site.templates.get('x_v2')?.owner, 'sales@example.com')
    assert.equal(d.library().site.templates.get('y_v2')?.owner, '')
  })

  it('never collide, even when two are asked for at once', async (t) => {
    const d = await desk(t, { 'prompts/x.md': template('') })
    const made = await Promise.all(Array.from({ length: 5 }, () => d.writer.duplicate(sales, 'x')))
    assert.equal(new Set(made.map(({ prompt_id }) => prompt_id)).size, 5)
    assert.equal(
      d
        .library()
        .for(sales)
        .prompts(sales)
        .filter(({ owner }) => owner === sales.user).length,
      5,
    )
  })

  it('leave alone what stands in their place', async (t) => {
    const d = await desk(t, { 'prompts/x.md': template('') })
    // A file that gives itself another id.
    await write(d.folder, {
      'prompts/users/sales@example.com/x_copy_sales.md': template('prompt_id: other', 'mine'),
    })
    await d.reload()
    await assert.rejects(d.writer.duplicate(sales, 'x'), { code: 'conflict', message: /exists already/ })
    assert.match(
      await readFile(join(d.folder, 'prompts/users/sales@example.com/x_copy_sales.md'), 'utf8'),
      /mine/,
    )
  })
})

describe('git.commit', () => {
  const prepare = async (folder: string): Promise<void> => {
    await git(folder, 'init', '--quiet')
    await commitAll(folder, 'first')
  }

  it('commits what was written, and nothing else, under the name of the user', async (t) => {
    const d = await desk(t, { 'prompts/x.md': first, 'notes.txt': 'a' }, true, prepare)
    await writeFile(join(d.folder, 'notes.txt'), 'not yet finished')
    const { commit, file } = await d.writer.duplicate(hr, 'x')
    assert.equal(
      await git(d.folder, 'log', '-1', '--format=%H|%an|%ae|%s'),
      `${commit}|Hedda Hr|hr@example.com|prompts: x_copy_hr, a private copy of x`,
    )
    assert.equal(await git(d.folder, 'show', '--format=', '--name-only'), file)
    assert.equal((await d.library().for(hr).render(hr, 'x_copy_hr', {})).commit, commit)
    assert.equal(
      (await d.library().site.line.version('hr@example.com:x_copy_hr', 1)).author,
      'hr@example.com',
    )
  })

  it('takes back what could not be committed', async (t) => {
    const d = await desk(t, { 'prompts/x.md': first }, true)
    await assert.rejects(d.writer.duplicate(hr, 'x'), {
      code: 'conflict',
      message: /not in a git repository/,
    })
    await assert.rejects(stat(join(d.folder, 'prompts/users/hr@example.com/x_copy_hr.md')), {
      code: 'ENOENT',
    })
    assert.deepEqual(await endings(d.world.audited('prompt.duplicate')), ['error'])
  })
})
