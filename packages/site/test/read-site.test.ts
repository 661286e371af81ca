import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { digestLine, emptyCache, readSite, siteFilesOf, siteLimits } from '#site/read-site.ts'
import { faultText, fileFault } from '#site/site-files.ts'
import { Noticed } from '#site/watch-site.ts'
import { siteFolder, writeFiles } from './site-folder.ts'

describe('reading a site', () => {
  it('lets requests in while many files become one site, whose digest is that of all their lines', async () => {
    for (const count of [0, 1, 1000, 1001, 2500]) {
      const bytes = Buffer.from('x')
      const paths = Array.from({ length: count }, (_, index) => `skills/a/${index}.txt`)
      const files = paths.map((path) => [path, { line: digestLine(path, bytes), bytes, faults: [] }] as const)
      const fault = fileFault('config', 'cannot be read')
      let turns = 0
      const turn = (): unknown => setImmediate(() => turns++ < 10 && turn())
      turn()
      const site = await siteFilesOf('/site', new Map(files), [fault])
      assert.equal(turns > 0, count >= 1000, `${count} files, ${turns} turns`)
      const lines = ['config\0!cannot be read', ...files.map(([, { line }]) => line)]
      assert.equal(site.digest, createHash('sha256').update(lines.join('\n')).digest('hex'))
      assert.equal(site.assets.size, count)
    }
  })

  it('parses YAML and markdown of config, prompts and tools, and keeps everything else as bytes', async (t) => {
    const folder = siteFolder(t, {
      'config/settings.yaml': 'version: 2\n',
      'config/doctypes/task.yml': 'name: Task\n',
      'config/seeds/task.json': '[]',
      'prompts/sales/a.md': '---\ntitle: A\n---\nHello',
      'tools/crm.yaml': 'tools: []\n',
      'tools/run.sh': 'echo hi\n',
      'var/state.yaml': 'not: ours\n',
      'package.yaml': 'not: ours\n',
    })
    const files = await readSite(folder)
    assert.deepEqual(files.faults, [])
    assert.equal(files.folder, folder)
    assert.deepEqual(
      [...files.documents.keys()],
      ['config/doctypes/task.yml', 'config/settings.yaml', 'prompts/sales/a.md', 'tools/crm.yaml'],
    )
    assert.deepEqual([...files.assets.keys()], ['config/seeds/task.json', 'tools/run.sh'])
    assert.equal(files.documents.get('prompts/sales/a.md')?.body, 'Hello')
  })

  it('parses only SKILL.md of a skill, keeps its bytes, and serves what stands beside it as it is', async (t) => {
    const skill = '---\r\nname: x\r\n---\r\nbody\r\n'
    const folder = siteFolder(t, {
      'skills/x/SKILL.md': skill,
      'skills/x/broken.yaml': 'a: [1\n',
      'skills/x/references/a.md': '---\nnot closed\n',
      'skills/x/sub/SKILL.md': '---\nnot closed\n',
      'skills/x/image.bin': new Uint8Array([0, 255, 254]),
    })
    const files = await readSite(folder)
    assert.deepEqual(files.faults, [])
    assert.deepEqual([...files.documents.keys()], ['skills/x/SKILL.md'])
    const document = files.documents.get('skills/x/SKILL.md')
    assert.deepEqual(document?.data, { name: 'x' })
    assert.equal(Buffer.from(document?.bytes ?? []).toString(), skill)
    assert.deepEqual(
      [...files.assets.keys()],
      ['skills/x/broken.yaml', 'skills/x/image.bin', 'skills/x/references/a.md', 'skills/x/sub/SKILL.md'],
    )
    assert.deepEqual([...(files.assets.get('skills/x/image.bin') ?? [])], [0, 255, 254])
  })

  it('ignores hidden files and what editors leave behind', async (t) => {
    const names = [
      '.a.yaml.swp',
      '.hidden.yaml',
      'a.yaml~',
      '#a.yaml#',
      'a.yaml.tmp',
      '4913',
      'a.yaml.orig',
      '.git/x.yaml',
    ]
    const folder = siteFolder(t, Object.fromEntries(names.map((name) => [`config/${name}`, 'a: [broken\n'])))
    const files = await readSite(folder)
    assert.deepEqual([files.faults, files.documents.size, files.assets.size], [[], 0, 0])
  })

  it('reports the faults of all files at once, sorted into reading order of the files', async (t) => {
    const folder = siteFolder(t, {
      'config/a.yaml': 'x: 1\nx: 2\n',
      'config/b.yaml': 'ok: true\n',
      'prompts/c.md': '---\ntitle: [\n---\n',
    })
    const files = await readSite(folder)
    const texts = files.faults.map(faultText)
    assert.equal(texts[0], 'config/a.yaml:2:1 "x" is given twice in the same map')
    assert.match(texts[1] ?? '', /^prompts\/c\.md:\d+:\d+ flow sequence in block collection/)
    assert.deepEqual([...files.documents.keys()], ['config/b.yaml'])
  })

  it('says so when there is no such folder', async (t) => {
    const folder = join(siteFolder(t), 'nowhere')
    const files = await readSite(folder)
    assert.deepEqual(files.faults.map(faultText), [`.:1:1 cannot read the site ${folder}: it does not exist`])
  })

  it('refuses files beyond the limits, and a site beyond them as a whole', async (t) => {
    const folder = siteFolder(t, {
      'config/a.yaml': `a: ${'x'.repeat(100)}\n`,
      'config/b.txt': 'x'.repeat(300),
    })
    const limited = await readSite(folder, { limits: { ...siteLimits, documentBytes: 50, assetBytes: 200 } })
    assert.deepEqual(limited.faults.map(faultText), [
      'config/a.yaml:1:1 has 104 bytes; the most for such a file is 50',
      'config/b.txt:1:1 has 300 bytes; the most for such a file is 200',
    ])
    const few = await readSite(folder, { limits: { ...siteLimits, files: 1 } })
    assert.deepEqual(few.faults.map(faultText), ['.:1:1 the site has 2 files; the most is 1'])
    const small = await readSite(folder, { limits: { ...siteLimits, totalBytes: 400 } })
    assert.deepEqual(small.faults.map(faultText), ['.:1:1 the site has 404 bytes; the most is 400'])
    assert.equal(small.documents.size + small.assets.size, 0)
  })

  it('refuses secrets in config and does not repeat them', async (t) => {
    const folder = siteFolder(t, { 'config/tools.yaml': 'crm:\n  api_key: 9f8e7d6c5b4a\n' })
    const [fault] = (await readSite(folder)).faults
    assert.match(faultText(fault!), /^config\/tools\.yaml:2:3 crm\.api_key: looks like a secret/)
    assert.doesNotMatch(faultText(fault!), /9f8e/)
  })
})

describe('links in a site', () => {
  it('are followed within the folders of the site, as mounted ConfigMaps need', async (t) => {
    const folder = siteFolder(t, { 'config/..2026/users.yaml': 'users: []\n', 'prompts/team/a.md': 'A' })
    symlinkSync('..2026', join(folder, 'config/..data'))
    symlinkSync('..data/users.yaml', join(folder, 'config/users.yaml'))
    symlinkSync('team', join(folder, 'prompts/also'))
    const files = await readSite(folder)
    assert.deepEqual(files.faults, [])
    assert.deepEqual(
      [...files.documents.keys()],
      ['config/users.yaml', 'prompts/also/a.md', 'prompts/team/a.md'],
    )
  })

  it('are refused when they lead out, to a file or a folder, directly or by a detour', async (t) => {
    const outside = siteFolder(t, { 'secret.md': 'secret', 'folder/secret.yaml': 'secret: 1\n' })
    const folder = siteFolder(t, {
      'config/settings.yaml': 'version: 2\n',
      'var/state.json': '{}',
      'skills/x/SKILL.md': '---\nname: x\n---\n',
    })
    symlinkSync(join(outside, 'secret.md'), join(folder, 'skills/x/a.md'))
    symlinkSync(join(outside, 'folder'), join(folder, 'config/b'))
    symlinkSync('../../var/state.json', join(folder, 'skills/x/state.json'))
    symlinkSync('a.md', join(folder, 'skills/x/detour.md'))
    symlinkSync('/etc/passwd', join(folder, 'skills/x/passwd'))
    const files = await readSite(folder)
    const message = 'is a link to a place outside config, prompts, skills, tools'
    assert.deepEqual(files.faults.map(faultText), [
      `config/b:1:1 ${message}`,
      `skills/x/a.md:1:1 ${message}`,
      `skills/x/detour.md:1:1 ${message}`,
      `skills/x/passwd:1:1 ${message}`,
      `skills/x/state.json:1:1 ${message}`,
    ])
    assert.deepEqual([...files.documents.keys()], ['config/settings.yaml', 'skills/x/SKILL.md'])
    assert.equal(files.assets.size, 0)
  })

  it('are refused when one of the top folders is one', async (t) => {
    const outside = siteFolder(t, { 'a.md': 'x' })
    const folder = siteFolder(t, {})
    symlinkSync(outside, join(folder, 'prompts'))
    const files = await readSite(folder)
    assert.deepEqual(files.faults.map(faultText), ['prompts:1:1 must be a folder of the site itself'])
    assert.equal(files.documents.size, 0)
  })

  it('are faults when they lead nowhere or in a circle', async (t) => {
    const folder = siteFolder(t, { 'prompts/a/x.md': 'x' })
    symlinkSync('missing.md', join(folder, 'prompts/gone.md'))
    symlinkSync('../a', join(folder, 'prompts/a/again'))
    symlinkSync('self', join(folder, 'prompts/self'))
    assert.deepEqual((await readSite(folder)).faults.map(faultText), [
      'prompts/a/again:1:1 is a link to a folder that it stands in',
      'prompts/gone.md:1:1 is a link to nothing',
      'prompts/self:1:1 cannot be read: too many links',
    ])
  })

  it('and sockets, pipes and devices do not make a reader wait', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'a: 1\n' })
    const server = createServer()
    t.after(() => server.close())
    await new Promise<void>((done) => server.listen(join(folder, 'config/socket.yaml'), done))
    const files = await readSite(folder)
    assert.deepEqual(files.faults.map(faultText), ['config/socket.yaml:1:1 is neither a file nor a folder'])
    assert.deepEqual([...files.documents.keys()], ['config/a.yaml'])
  })
})

describe('reading a site again', () => {
  it('gives the same digest for the same files and another for any difference', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'a: 1\n', 'skills/x/b.txt': 'b' })
    const copy = siteFolder(t, { 'skills/x/b.txt': 'b', 'config/a.yaml': 'a: 1\n' })
    const { digest } = await readSite(folder)
    assert.equal((await readSite(copy)).digest, digest)
    writeFiles(folder, { 'skills/x/b.txt': 'c' })
    const changed = (await readSite(folder)).digest
    assert.notEqual(changed, digest)
    renameSync(join(folder, 'skills/x/b.txt'), join(folder, 'skills/x/c.txt'))
    assert.notEqual((await readSite(folder)).digest, changed)
    symlinkSync('/etc', join(folder, 'skills/x/etc'))
    assert.notEqual((await readSite(folder)).digest, changed)
  })

  it('parses only what changed, and forgets what is gone', async (t) => {
    const folder = siteFolder(t, {
      'config/a.yaml': 'a: 1\n',
      'config/b.yaml': 'b: 1\n',
      'config/c.yaml': 'c: 1\n',
    })
    const cache = emptyCache()
    const first = await readSite(folder, { cache })
    writeFiles(folder, { 'config/b.yaml': 'b: 2\n' })
    rmSync(join(folder, 'config/c.yaml'))
    const second = await readSite(folder, { cache })
    assert.equal(second.documents.get('config/a.yaml'), first.documents.get('config/a.yaml'))
    assert.deepEqual(second.documents.get('config/b.yaml')?.data, { b: 2 })
    assert.deepEqual([...second.documents.keys()], ['config/a.yaml', 'config/b.yaml'])
    assert.deepEqual([...cache.files.keys()].sort(), ['config/a.yaml', 'config/b.yaml'])
    // The reading before is not changed by the one after.
    assert.deepEqual(first.documents.get('config/b.yaml')?.data, { b: 1 })
    assert.equal(first.documents.size, 3)
  })

  it('keeps the faults of files that did not change', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'a: 1\na: 2\n', 'config/b.yaml': 'b: 1\n' })
    const cache = emptyCache()
    const first = await readSite(folder, { cache })
    assert.equal(first.faults.length, 1)
    writeFiles(folder, { 'config/b.yaml': 'b: 2\n' })
    assert.deepEqual((await readSite(folder, { cache })).faults, first.faults)
    writeFiles(folder, { 'config/a.yaml': 'a: 1\n' })
    assert.deepEqual((await readSite(folder, { cache })).faults, [])
  })

  it('notices an edit of the same length within the same tick of the clock', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'a: 0\n' })
    const path = join(folder, 'config/a.yaml')
    const cache = emptyCache()
    const now = new Date()
    for (let value = 0; value < 10; value++) {
      writeFileSync(path, `a: ${value}\n`)
      utimesSync(path, now, now)
      const files = await readSite(folder, { cache })
      assert.deepEqual(files.documents.get('config/a.yaml')?.data, { a: value })
    }
  })

  it('waits while somebody is in the middle of a change', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n', 'config/b.yaml': 'v: 1\n' })
    let busy = true
    const reading = readSite(folder, { busy: () => Promise.resolve(busy) })
    writeFiles(folder, { 'config/a.yaml': 'v: 2\n' })
    await setTimeout(50)
    writeFiles(folder, { 'config/b.yaml': 'v: 2\n' })
    busy = false
    const files = await reading
    assert.deepEqual(
      [...files.documents.values()].map(({ data }) => data),
      [{ v: 2 }, { v: 2 }],
    )
  })

  it('reads again when something changed meanwhile, and gives up on a site that never rests', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'a: 0\n' })
    let asked = 0
    const once = await readSite(folder, {
      busy: async () => {
        // Asked before the reading and after it: change the site in between, once.
        if (++asked === 2) writeFiles(folder, { 'config/a.yaml': 'a: 11\n' })
        return false
      },
    })
    assert.deepEqual([once.faults, once.documents.get('config/a.yaml')?.data], [[], { a: 11 }])

    let count = 100
    const never = await readSite(folder, {
      busy: async () => {
        mkdirSync(join(folder, 'config'), { recursive: true })
        writeFiles(folder, { 'config/a.yaml': `a: ${'1'.repeat(count++ % 7)}\n` })
        return false
      },
    })
    assert.deepEqual(never.faults.map(faultText), [
      '.:1:1 files kept changing during 10 readings; nothing of it was taken',
    ])
  })

  describe('where every change is noticed', () => {
    /** A site that was read whole, and a way to read it again after something happened at these places. */
    async function watchedSite(t: TestContext) {
      const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n', 'config/b.yaml': 'v: 1\n' })
      const [cache, noticed] = [emptyCache(), new Noticed()]
      await readSite(folder, { cache })
      const again = async (...places: (string | undefined)[]): Promise<unknown[]> => {
        for (const place of places) noticed.note(place)
        const { documents, faults } = await readSite(folder, { cache, noticed, limits })
        return [...[...documents.values()].map(({ data }) => data), ...faults.map(faultText)]
      }
      return { folder, cache, again }
    }
    const limits = { ...siteLimits, documentBytes: 50 }

    it('looks only at the files at which something happened', async (t) => {
      const { folder, cache, again } = await watchedSite(t)
      writeFiles(folder, { 'config/a.yaml': 'v: 22\n', 'config/b.yaml': 'v: 22\n' })
      assert.deepEqual(await again('config/a.yaml'), [{ v: 22 }, { v: 1 }])
      const whole = await readSite(folder, { cache })
      assert.deepEqual(
        [...whole.documents.values()].map(({ data }) => data),
        [{ v: 22 }, { v: 22 }],
      )
      assert.equal(whole.digest, (await readSite(folder)).digest)
    })

    it('looks at all of it when something happened nobody knows where, or too much for the kernel', async (t) => {
      const { folder, again } = await watchedSite(t)
      writeFiles(folder, { 'config/b.yaml': 'v: 22\n' })
      assert.deepEqual(await again('config/a.yaml', undefined), [{ v: 1 }, { v: 22 }])
      writeFiles(folder, { 'config/b.yaml': 'v: 333\n' })
      assert.deepEqual(await again(...Array<string>(1001).fill('config/a.yaml')), [{ v: 1 }, { v: 333 }])
    })

    it('looks at all of it when something came, went, became a link or has a second name', async (t) => {
      const { folder, again } = await watchedSite(t)
      writeFiles(folder, { 'config/b.yaml': 'v: 22\n', 'config/c.yaml': 'v: 0\n' })
      assert.deepEqual(await again('config/c.yaml'), [{ v: 1 }, { v: 22 }, { v: 0 }])
      rmSync(join(folder, 'config/a.yaml'))
      assert.deepEqual(await again('config/a.yaml'), [{ v: 22 }, { v: 0 }])
      rmSync(join(folder, 'config/c.yaml'))
      linkSync(join(folder, 'config/b.yaml'), join(folder, 'config/c.yaml'))
      assert.deepEqual(await again('config/c.yaml'), [{ v: 22 }, { v: 22 }])
      writeFileSync(join(folder, 'config/b.yaml'), 'v: 333\n')
      assert.deepEqual(await again('config/b.yaml'), [{ v: 333 }, { v: 333 }])
      rmSync(join(folder, 'config/b.yaml'))
      symlinkSync('c.yaml', join(folder, 'config/b.yaml'))
      assert.deepEqual(await again('config/b.yaml'), [{ v: 333 }, { v: 333 }])
      writeFileSync(join(folder, 'config/c.yaml'), 'v: 4\n')
      assert.deepEqual(await again('config/c.yaml'), [{ v: 4 }, { v: 4 }])
    })

    it('takes no notice of what an editor wrote on its way', async (t) => {
      const { folder, again } = await watchedSite(t)
      writeFiles(folder, { 'config/new': 'v: 22\n' })
      renameSync(join(folder, 'config/new'), join(folder, 'config/a.yaml'))
      assert.deepEqual(await again('config/new', 'config/a.yaml'), [{ v: 22 }, { v: 1 }])
    })

    it('goes on telling of a file that could not be read', async (t) => {
      const { folder, again } = await watchedSite(t)
      writeFiles(folder, { 'config/a.yaml': `v: ${'1'.repeat(60)}\n` })
      const fault = 'config/a.yaml:1:1 has 64 bytes; the most for such a file is 50'
      assert.deepEqual(await again('config/a.yaml'), [{ v: 1 }, fault])
      writeFiles(folder, { 'config/b.yaml': 'v: 22\n' })
      assert.deepEqual(await again('config/b.yaml'), [{ v: 22 }, fault])
    })
  })
})
