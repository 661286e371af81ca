import assert from 'node:assert/strict'
import { cp, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readSite } from '#site/read-site.ts'
import { faultText, type Fault, type SiteFiles } from '#site/site-files.ts'
import type { Surroundings, TemplateCache } from '../../src/library/check-library.ts'
import { readLibrary } from '../../src/library/read-library.ts'
import {
  as,
  check,
  folderWith,
  open,
  openWith,
  packageFolder,
  source,
  template,
  world,
  write,
} from './library-site.ts'

const admin = as('admin@example.com')

describe('§2.6 template files', () => {
  it("takes the specification's fields, and the body as the content", async (t) => {
    const { library, warnings } = await openWith(t, {
      'prompts/sub/folder/order-check.md': template(
        `title: Order check
description: Checks an order
category: sales
status: Published
visibility: Shared
shared_with_roles: [Sales User]
rendering_engine: Format String
tags: orders, checks
owner: sales@example.com
arguments:
  - argument_name: order
    display_label: Order
    argument_type: string
    is_required: 1
    description: Its name
    validation_regex: SO-\\d+
    min_length: 4
    max_length: 20`,
        'Check {order}.\n\nAgain {order}.',
      ),
      'prompts/plain.yaml':
        'title: Plain\nstatus: Published\nvisibility: Public\nrendering_engine: Raw\ntemplate_content: |\n  As {{ it }} stands\n',
      'prompts/categories.yaml': 'categories:\n  - { category_id: sales, category_name: Sales }\n',
      'prompts/README.md': 'Notes for authors.',
    })
    assert.deepEqual(warnings, [])
    const template1 = library.for(admin).prompt(admin, 'order-check')
    assert.equal(template1.title, 'Order check')
    assert.equal(template1.category, 'sales')
    assert.deepEqual(template1.sharedWithRoles, ['Sales User'])
    assert.deepEqual(template1.tags, ['orders', 'checks'])
    assert.equal(template1.engine, 'Format String')
    assert.equal(template1.version, 1)
    assert.equal(template1.file, 'prompts/sub/folder/order-check.md')
    assert.equal(template1.content, 'Check {order}.\n\nAgain {order}.\n')
    assert.match(template1.digest, /^sha256:[0-9a-f]{64}$/)
    assert.equal((await library.for(admin).render(admin, 'plain', {})).text, 'As {{ it }} stands\n')
    assert.equal(
      (await library.for(admin).render(admin, 'order-check', { order: 'SO-1' })).text,
      'Check SO-1.\n\nAgain SO-1.\n',
    )
    assert.deepEqual(
      library
        .for(admin)
        .prompts(admin)
        .map(({ id }) => id),
      ['plain', 'order-check'],
    )
  })

  it('is a Private Draft of Jinja2 unless it says otherwise', async (t) => {
    const { library } = await openWith(t, {
      'prompts/x.md': '---\ntitle: X\nowner: sales@example.com\n---\nHi {{ 1 + 1 }}\n',
    })
    const { status, visibility, engine } = library
      .for(as('sales@example.com'))
      .prompt(as('sales@example.com'), 'x')
    assert.deepEqual(
      { status, visibility, engine },
      { status: 'Draft', visibility: 'Private', engine: 'Jinja2' },
    )
  })

  it('tells every fault of every file at once, each at its place', async (t) => {
    const { faults } = await check(t, {
      'prompts/a.md': '---\ntitel: A\nstatus: Live\nvisibility: Public\n---\nx\n',
      'prompts/B.md': template(''),
      'prompts/c.md': template('visibility: Shared'),
      'prompts/d.md': template('shared_with_roles: [Sales Usr]\nvisibility: Shared\ncategory: sale'),
      'prompts/e.md': template('visibility: Private'),
      'prompts/f.md': template('prompt_id: dup'),
      'prompts/g.md': template('prompt_id: dup'),
      'prompts/h.md': template('rendering_engine: Format String', 'one {\n  two {0} {name.attr}'),
      'prompts/i.md': template('is_system: 1'),
      'prompts/j.md': template('', '   '),
      'prompts/k.yaml': 'title: K\nvisibility: Public\n',
      'prompts/l.md': template('template_content: here', 'and here'),
      'prompts/m.md': template(
        'arguments:\n  - { argument_name: who, argument_type: link, doctype: Custmer }',
        '{{ who }}',
      ),
      'prompts/categories.yaml':
        'categories:\n  - { category_id: sales, category_name: Sales, parent_category: all }\n  - { category_id: a, category_name: A, is_group: 1, parent_category: b }\n  - { category_id: b, category_name: B, is_group: 1, parent_category: a }\n',
    })
    assert.deepEqual(
      faults.sort(),
      [
        'prompts/B.md:2:1 the file name gives prompt_id "B"; use only lower-case letters, digits, - and _',
        'prompts/a.md:2:1 "title" is required',
        'prompts/a.md:2:1 titel: unknown key; did you mean "title"?',
        'prompts/a.md:3:9 status: must be one of "Draft", "Published", "Deprecated" or "Archived", not "Live"',
        'prompts/c.md:4:13 visibility: a Shared template needs shared_with_roles',
        'prompts/categories.yaml:2:66 categories[0].parent_category: unknown category "all"',
        'prompts/categories.yaml:3:71 categories[1].parent_category: leads back to the category itself',
        'prompts/categories.yaml:4:71 categories[2].parent_category: leads back to the category itself',
        'prompts/d.md:4:21 shared_with_roles[0]: unknown role "Sales Usr"; did you mean "Sales User"?',
        'prompts/d.md:6:11 category: unknown category "sale"; did you mean "sales"?',
        'prompts/e.md:4:13 visibility: a Private template needs an owner',
        'prompts/g.md:5:12 prompt_id: "dup" is already used by prompts/f.md',
        'prompts/h.md:7:5 template_content: a single "{"; write "{{" for the brace itself',
        'prompts/h.md:8:11 template_content: "{name.attr}" is not a plain name; write "{{" and "}}" for the braces themselves',
        'prompts/h.md:8:7 template_content: "{0}" is not a plain name; write "{{" and "}}" for the braces themselves',
        'prompts/i.md:5:12 is_system: only the package has built-in templates; leave is_system out',
        'prompts/j.md:6:1 template_content: the template has no content below its front matter',
        'prompts/k.yaml:1:1 "template_content" is required',
        'prompts/l.md:5:19 template_content: a markdown file holds the content below its front matter',
        'prompts/m.md:6:57 arguments[0].doctype: unknown doctype "Custmer"; did you mean "Customer"?',
      ].sort(),
    )
  })

  it('tells a template syntax error at its line of the file', async (t) => {
    const { faults } = await check(t, { 'prompts/x.md': template('', 'fine\n\n{% if a %}\nnever closed') })
    assert.equal(faults.length, 1)
    assert.match(
      faults[0]!,
      /^prompts\/x\.md:9:13 template_content: unexpected end of template\. .* is 'if'$/,
    )
  })

  it('warns of arguments that are used and not declared, or declared and not used, conditions included', async (t) => {
    const { faults, warnings } = await check(t, {
      'prompts/x.md': template(
        'arguments:\n  - argument_name: in_condition\n    argument_type: boolean\n  - argument_name: unused',
        '{% if in_condition %}yes{% endif %} {{ undeclared }}',
      ),
    })
    assert.deepEqual(faults, [])
    assert.equal(warnings.length, 2)
    assert.match(
      warnings[0]!,
      /^prompts\/x\.md:\d+:40 template_content: "undeclared" is used but is not an argument$/,
    )
    assert.match(
      warnings[1]!,
      /^prompts\/x\.md:8:\d+ arguments\[1\]\.argument_name: argument "unused" is not used in the content$/,
    )
  })

  it('warns of tools and doctypes that do not exist, in prompts and skills, and of owners who left', async (t) => {
    const { faults, warnings } = await check(t, {
      'prompts/x.md': template(
        'owner: gone@example.com',
        'Call `list_documents`, then use `metadata_doctype()` or `list_document` for doctype "Custmer".\nFields like `order_date` and names as `sales_total` are fine.',
      ),
      'skills/my-skill/SKILL.md':
        '---\nname: my-skill\ndescription: D\ntools: [run_everything]\n---\nWith the `fetch_all` tool.\n',
      'skills/my-skill/more.md': 'First\n\nUse `get_documents` here.\n',
    })
    assert.deepEqual(faults, [])
    assert.deepEqual(
      warnings.map((line) => line.replace(/:\d+:\d+ /, ' ')),
      [
        'prompts/x.md owner: "gone@example.com" is not a user of this site',
        'prompts/x.md there is no tool "metadata_doctype"',
        'prompts/x.md there is no tool "list_document"; did you mean "list_documents"?',
        'prompts/x.md there is no doctype "Custmer"; did you mean "Customer"?',
        'skills/my-skill/SKILL.md tools[0]: there is no tool "run_everything"',
        'skills/my-skill/SKILL.md there is no tool "fetch_all"',
        'skills/my-skill/more.md there is no tool "get_documents"; did you mean "get_document"?',
      ],
    )
    assert.match(warnings.at(-1)!, /more\.md:3:6 /)
  })
})

describe('§9.9 what is built in', () => {
  it('is added to every site, unless the setting is off', async (t) => {
    const builtIns = await readSite(packageFolder)
    const folder = await folderWith(t, { 'prompts/mine.md': template('category: sales-crm') })
    const w = await world(t)
    const { library } = await open(w, folder, { builtIns })
    const ids = library
      .for(as('hr@example.com'))
      .prompts(as('hr@example.com'))
      .map(({ id }) => id)
    assert.equal(ids[0], 'mine')
    assert.ok(ids.includes('sales_analysis') && ids.length === 8)
    assert.ok(library.for(admin).skills(admin).length >= 6)
    await write(folder, { 'prompts/mine.md': template('') })
    const without = await open(w, folder)
    assert.deepEqual(
      without.library
        .for(admin)
        .prompts(admin)
        .map(({ id }) => id),
      ['mine'],
    )
    assert.deepEqual(without.library.for(admin).skills(admin), [])
  })

  it('takes an unchanged copy of the package for the package itself: a site may begin as one', async (t) => {
    const builtIns = await readSite(packageFolder)
    const folder = await folderWith(t, {})
    for (const part of ['prompts', 'skills'])
      await cp(join(packageFolder, part), join(folder, part), { recursive: true })
    const w = await world(t)
    const { library, warnings } = await open(w, folder, { builtIns })
    assert.equal(library.for(admin).prompts(admin).length, 7)
    assert.ok(library.for(admin).prompt(admin, 'sales_analysis').isSystem)
    assert.deepEqual(
      warnings.filter((warning) => warning.includes('built-in')),
      [],
    )
  })

  it('keeps its ids: a site may not take them', async (t) => {
    const builtIns = await readSite(packageFolder)
    const { faults } = await check(
      t,
      {
        'prompts/sales_analysis.md': template(''),
        'prompts/categories.yaml': 'categories:\n  - { category_id: purchasing, category_name: Mine }\n',
        'skills/creating-documents/SKILL.md': '---\nname: creating-documents\ndescription: D\n---\nText\n',
      },
      { builtIns },
    )
    assert.deepEqual(faults, [
      'prompts/categories.yaml:2:20 categories[0].category_id: "purchasing" is a built-in category',
      'prompts/sales_analysis.md:2:1 prompt_id: "sales_analysis" is a built-in template; duplicate it under another prompt_id',
      'skills/creating-documents/SKILL.md:2:7 name: "creating-documents" is a built-in skill; choose another name',
    ])
  })
})

describe('skills', () => {
  const skill = (lines: string, body = 'Text'): string => `---\n${lines}\n---\n${body}\n`

  it('serves the bytes on disk with their digests, SKILL.md first', async (t) => {
    const folder = await folderWith(t, {
      'skills/demo/SKILL.md': `\uFEFF---\r\nname: demo\r\ndescription: A demo\r\nmetadata: { made: 2026-01-01 }\r\n---\r\nText\r\n`,
      'skills/demo/references/a b.txt': 'plain',
      'skills/demo/data.csv': 'a,b\n',
    })
    const { writeFile } = await import('node:fs/promises')
    await writeFile(`${folder}/skills/demo/logo.png`, Buffer.from([0x89, 0x50, 0xff]))
    const { library } = await open(await world(t), folder)
    const demo = library.for(admin).skill(admin, 'demo')
    assert.deepEqual(
      demo.files.map(({ uri, mimeType, text }) => [uri, mimeType, text]),
      [
        ['skill://demo/SKILL.md', 'text/markdown', true],
        ['skill://demo/data.csv', 'text/csv', true],
        ['skill://demo/logo.png', 'image/png', false],
        ['skill://demo/references/a%20b.txt', 'text/plain', true],
      ],
    )
    const bytes = Buffer.from(demo.files[0]!.bytes)
    assert.ok(
      bytes.includes('\r\n') && bytes[0] === 0xef,
      'neither line ends nor the byte order mark are touched',
    )
    const { createHash } = await import('node:crypto')
    assert.equal(demo.files[0]!.digest, `sha256:${createHash('sha256').update(bytes).digest('hex')}`)
    assert.deepEqual(demo.frontmatter, {
      name: 'demo',
      description: 'A demo',
      metadata: { made: '2026-01-01' },
    })
    assert.equal(demo.title, 'Demo')
  })

  it('has visibility and status like a prompt', async (t) => {
    const { library } = await openWith(t, {
      'skills/for-all/SKILL.md': skill('name: for-all\ndescription: D'),
      'skills/for-hr/SKILL.md': skill(
        'name: for-hr\ndescription: D\nvisibility: Shared\nshared_with_roles: [HR User]',
      ),
      'skills/mine/SKILL.md': skill(
        'name: mine\ndescription: D\nvisibility: Private\nowner: sales@example.com',
      ),
      'skills/draft/SKILL.md': skill('name: draft\ndescription: D\nstatus: Draft\nowner: hr@example.com'),
    })
    const seen = (id: string): string[] =>
      library
        .for(as(id))
        .skills(as(id))
        .map(({ name }) => name)
    assert.deepEqual(seen('sales@example.com'), ['mine', 'for-all'])
    assert.deepEqual(seen('hr@example.com'), ['draft', 'for-all', 'for-hr'])
    assert.deepEqual(seen('beta@example.com'), ['for-all'])
    assert.throws(() => library.for(as('beta@example.com')).skill(as('beta@example.com'), 'for-hr'), {
      code: 'not_found',
    })
    assert.notEqual(
      library.for(as('hr@example.com')).skillsDigest(as('hr@example.com')),
      library.for(as('beta@example.com')).skillsDigest(as('beta@example.com')),
    )
  })

  it('refuses what the extension does not allow', async (t) => {
    const { faults } = await check(t, {
      'skills/a/SKILL.md': skill('name: b\ndescription: D'),
      'skills/c--d/SKILL.md': skill('name: c--d\ndescription: D'),
      'skills/e/SKILL.md': skill('name: e'),
      'skills/f/SKILL.md': skill(`name: f\ndescription: ${'x'.repeat(1025)}`),
      'skills/g/notes.md': 'no SKILL.md',
      'skills/h/SKILL.md': skill('name: h\ndescription: D\nvisibilty: Private'),
      'skills/i/SKILL.md': skill('name: i\ndescription: D\nmetadata: { io.modelcontextprotocol/x: 1 }'),
    })
    assert.equal(faults.length, 7, faults.join('\n'))
    assert.ok(faults.includes('skills/a/SKILL.md:2:7 name: must be the name of its folder, "a"'))
    assert.ok(faults.includes('skills/g:1:1 a skill needs a SKILL.md'))
    assert.ok(faults.some((fault) => fault.includes('did you mean "visibility"?')))
  })

  it('has bounds, and files of its own only', async (t) => {
    const files = Object.fromEntries(
      Array.from({ length: 512 }, (_, index) => [`skills/many/f${index}.txt`, 'x']),
    )
    const folder = await folderWith(t, {
      ...files,
      'skills/many/SKILL.md': skill('name: many\ndescription: D'),
      'skills/large/SKILL.md': skill('name: large\ndescription: D'),
      'skills/large/data.bin': 'x'.repeat(16 * 1024 * 1024),
      'skills/links/SKILL.md': skill('name: links\ndescription: D'),
    })
    await symlink('/etc/passwd', join(folder, 'skills/links/passwd.txt'))
    await symlink('..', join(folder, 'skills/links/up'))
    const site = await readSite(folder)
    const faults: Fault[] = [...site.faults]
    const { librarian } = await world(t)
    await librarian.read(site, faults, [], source())
    const told = faults.map(faultText).join('\n')
    assert.match(told, /skills\/many\/SKILL\.md:2:1 a skill has at most 512 files, not 513/)
    assert.match(told, /skills\/large\/SKILL\.md:2:1 a skill has at most 16777216 bytes/)
    assert.match(told, /skills\/links\/passwd\.txt/)
    assert.ok(![...site.assets].some(([, bytes]) => Buffer.from(bytes).includes('root:')))
  })

  it('counts readings apart from prompts', async (t) => {
    const { library, world: w } = await openWith(t, {
      'skills/demo/SKILL.md': skill('name: demo\ndescription: D'),
    })
    await library.site.countSkillRead('demo')
    await library.site.countSkillRead('demo')
    assert.equal((await w.librarian.usage.of('skill', 'demo')).count, 2)
    assert.equal((await w.librarian.usage.of('prompt', 'demo')).count, 0)
  })
})

describe('a reading after another', () => {
  it('says what a first one says, whatever was written in between', async (t) => {
    const builtIns = await readSite(packageFolder)
    const folder = await folderWith(t, {
      'prompts/categories.yaml': 'categories:\n  - { category_id: one, category_name: One }\n',
      'prompts/a.md': template('category: one', 'First'),
      'prompts/b.md': template('', 'First'),
      'prompts/warned.md': template('', 'Call `list_document`.'),
      'skills/mine/SKILL.md': '---\nname: mine\ndescription: Mine\n---\nCall `list_document`.\n',
      'skills/mine/notes.txt': 'First',
    })
    const edits: Readonly<Record<string, string | null>>[] = [
      { 'prompts/a.md': template('category: one', 'Second') },
      { 'prompts/a.md': template('category: one', 'Call `list_document`.') },
      {
        'prompts/a.md': template('category: one\nstatus: Draft', 'Third'),
        'prompts/b.md': template('', '2'),
      },
      { 'prompts/warned.md': template('', 'Call nothing.') },
      { 'prompts/b.md': template('category: two', 'Second') },
      { 'prompts/b.md': template('', '{% if %}') },
      { 'prompts/b.md': template('prompt_id: a', 'Second') },
      { 'prompts/b.md': template('prompt_id: c', 'Second') },
      { 'prompts/b.md': template('is_system: 1', 'Second') },
      { 'prompts/b.md': template('', 'Second') },
      { 'prompts/categories.yaml': 'categories: []\n' },
      { 'prompts/categories.yaml': 'categories:\n  - { category_id: one, category_name: Uno }\n' },
      { 'skills/mine/notes.txt': 'Second' },
      { 'skills/mine/SKILL.md': '---\nname: mine\ndescription: Mine\n---\nCall nothing.\n' },
      { 'prompts/b.md': null, 'prompts/d.md': template('', 'New') },
      { 'prompts/d.md': template('prompt_id: sales_analysis', 'New') },
      { 'prompts/d.md': template('', 'New'), 'config/x.yaml': 'x: 1\n' },
      { 'prompts/d.md': template('', 'Newer'), 'config/x.yaml': 'x: 2\n' },
    ]
    const cache: TemplateCache = { files: new Map() }
    const said = (files: SiteFiles, more: Partial<Surroundings>) => {
      const [faults, warnings]: [Fault[], Fault[]] = [[], []]
      const read = readLibrary(files, faults, warnings, source({ builtIns, ...more }))
      return {
        faults: faults.map(faultText),
        warnings: warnings.map(faultText),
        templates: [...read.templates].map(
          ([
            id,
            {
              template: { digest },
            },
          ]) => `${id} ${digest}`,
        ),
        categories: [...read.categories.values()],
        skills: [...read.skillDigests],
        builtIns: [...read.builtIns],
      }
    }
    let outcomes = ''
    for (const edit of [{}, ...edits]) {
      for (const [file, text] of Object.entries(edit))
        await (text === null ? rm(join(folder, file)) : write(folder, { [file]: text }))
      const files = await readSite(folder)
      const again = said(files, { cache })
      assert.deepEqual(again, said(files, {}), JSON.stringify(edit))
      outcomes += again.faults.length > 0 ? 'f' : again.warnings.length > 2 ? 'w' : '.'
    }
    assert.equal(outcomes, '..w..fff.f.f....f..')
  })
})
