import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { AppError } from '#leaf/errors.ts'
import { createLog } from '#leaf/log.ts'
import { faultText, type Fault } from '#site/site-files.ts'
import type { ReloadResult, Site } from '#site/kept-site.ts'
import { openSite, type SiteOptions } from '#site/site.ts'
import { gitBeside, gitIn, siteFolder, withoutGit, writeFiles } from './site-folder.ts'

/** What the tests build of a site: the value of every document by path. */
type Snapshot = ReadonlyMap<string, unknown>

interface Opened {
  readonly site: Site<Snapshot>
  readonly swaps: ReloadResult[]
  readonly rejections: ReloadResult[]
  readonly lines: string[]
  readonly move: (milliseconds: number) => void
}

/** Opens the site and closes it when the test ends. A document with `fault: true` is at fault. */
async function open(
  t: TestContext,
  folder: string,
  more: Partial<SiteOptions<Snapshot>> = {},
): Promise<Opened> {
  const swaps: ReloadResult[] = []
  const rejections: ReloadResult[] = []
  const lines: string[] = []
  let now = 1_000_000
  const site = await openSite<Snapshot>({
    folder,
    clock: { now: () => now },
    log: createLog('info', { write: (line) => void lines.push(line) }),
    debounceMs: 40,
    build: (files) => {
      const faults: Fault[] = []
      const warnings: Fault[] = []
      for (const document of files.documents.values()) {
        const data = (document.data ?? {}) as Record<string, unknown>
        if (data['fault']) faults.push(document.fault(['fault'], 'is not wanted'))
        if (data['warn']) warnings.push(document.fault(['warn'], 'is odd'))
      }
      return {
        snapshot: new Map([...files.documents].map(([path, { data }]) => [path, data])),
        faults,
        warnings,
      }
    },
    onSwap: (_snapshot, result) => void swaps.push(result),
    onRejected: (result) => void rejections.push(result),
    ...more,
  })
  t.after(() => site.close())
  return { site, swaps, rejections, lines, move: (milliseconds) => void (now += milliseconds) }
}

/** Waits until it holds; a machine may be slow, but not for ever. */
async function until(what: string, holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds(); waited += 10) {
    assert.ok(waited < 60_000, `waited in vain until ${what}`)
    await setTimeout(10)
  }
}

const value = (site: Site<Snapshot>, path: string): unknown =>
  (site.current().get(path) as Record<string, unknown> | undefined)?.['v']

describe('opening a site', () => {
  it('gives the snapshot, its digest, and what it warns of', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\nwarn: 1\n' })
    const { site, lines } = await open(t, folder)
    assert.equal(value(site, 'config/a.yaml'), 1)
    const state = site.state()
    assert.match(state.digest, /^[0-9a-f]{64}$/)
    assert.equal(state.loadedAt, 1_000_000)
    assert.deepEqual([state.faults, state.warnings.map(faultText)], [[], ['config/a.yaml:2:7 warn: is odd']])
    assert.equal(state.lastReload, undefined)
    assert.match(lines.join(''), /config\/a\.yaml:2:7 warn: is odd/)
  })

  it('is refused with every fault at once, those of reading before those of building', async (t) => {
    const folder = siteFolder(t, {
      'config/b.yaml': 'x: 1\nx: 2\n',
      'config/a.yaml': 'v: 1\nfault: true\n',
      'prompts/c.md': '---\nfault: 1\n---\n',
    })
    await assert.rejects(open(t, folder), (error) => {
      assert.ok(error instanceof AppError)
      assert.equal(error.code, 'invalid')
      assert.equal(
        error.message,
        [
          `the site ${folder} has 3 faults:`,
          '  config/b.yaml:2:1 "x" is given twice in the same map',
          '  config/a.yaml:2:8 fault: is not wanted',
          '  prompts/c.md:2:8 fault: is not wanted',
        ].join('\n'),
      )
      assert.equal((error.data as { faults: Fault[] }).faults.length, 3)
      return true
    })
  })

  it('is refused where there is none', async (t) => {
    await assert.rejects(
      open(t, join(siteFolder(t), 'nowhere')),
      /cannot read the site .*nowhere: it does not exist/,
    )
  })
})

describe('a prompt that fails its own tests', () => {
  const failing: Partial<SiteOptions<Snapshot>> = {
    watch: false,
    build: (files, _current, isBorne) => {
      const all = [...files.documents]
      const faults: Fault[] = [...files.faults]
      for (const [, document] of all)
        if ((document.data as Record<string, unknown>)['fails'])
          faults.push({ ...document.fault(['fails'], 'does not pass'), isTest: true })
      const snapshot = new Map(all.map(([path, { data }]) => [path, data]))
      return { ...(faults.every(isBorne) && { snapshot }), faults, warnings: [] }
    },
  }

  it('keeps no service from starting, and no other change from being used; it is told as long as it fails', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n', 'prompts/p.yaml': 'fails: 1\n' })
    const { site, lines, rejections } = await open(t, folder, failing)
    const told = ['prompts/p.yaml:1:8 fails: does not pass']
    assert.deepEqual(site.state().faults.map(faultText), told)
    assert.match(lines.join(''), /prompts\/p\.yaml:1:8 fails: does not pass/)
    writeFiles(folder, { 'config/a.yaml': 'v: 2\n' })
    const swapped = await site.reload('SIGHUP')
    assert.deepEqual([swapped.outcome, swapped.faults.map(faultText)], ['swapped', told])
    assert.equal(value(site, 'config/a.yaml'), 2)
    assert.deepEqual(site.state().faults.map(faultText), told)

    // What is wrong in another way is told with it, and does not make it new when that is mended.
    writeFiles(folder, { 'config/b.yaml': 'x: 1\nx: 2\n' })
    assert.equal((await site.reload('SIGHUP')).outcome, 'rejected')
    assert.equal(site.state().faults.length, 2)
    writeFiles(folder, { 'config/b.yaml': 'x: 1\n' })
    assert.equal((await site.reload('SIGHUP')).outcome, 'swapped')
    assert.deepEqual(site.state().faults.map(faultText), told)

    writeFiles(folder, { 'prompts/p.yaml': 'v: 1\n' })
    assert.equal((await site.reload('SIGHUP')).outcome, 'swapped')
    assert.deepEqual(site.state().faults, [])
    assert.equal(rejections.length, 1)
  })

  it('is a fault as any other when it comes while the service runs: the last good one stays in use', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n', 'prompts/p.yaml': 'v: 1\n' })
    const { site, rejections } = await open(t, folder, failing)
    writeFiles(folder, { 'config/a.yaml': 'v: 2\n', 'prompts/p.yaml': 'fails: 1\n' })
    assert.equal((await site.reload('SIGHUP')).outcome, 'rejected')
    assert.equal(value(site, 'config/a.yaml'), 1)
    assert.equal(rejections.length, 1)
    assert.deepEqual(site.state().faults.map(faultText), ['prompts/p.yaml:1:8 fails: does not pass'])
  })
})

describe('reloading by hand', () => {
  const byHand = { watch: false }

  it('swaps the snapshot and tells so, with the snapshot before', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n' })
    let told: unknown[] = []
    const { site, move } = await open(t, folder, {
      ...byHand,
      onSwap: (snapshot, result, previous) =>
        void (told = [snapshot.get('config/a.yaml'), result.outcome, previous.get('config/a.yaml')]),
    })
    const held = site.current()
    writeFiles(folder, { 'config/a.yaml': 'v: 2\n' })
    move(5000)
    const result = await site.reload('SIGHUP')
    assert.deepEqual([result.outcome, result.reason, result.at], ['swapped', 'SIGHUP', 1_005_000])
    assert.deepEqual(told, [{ v: 2 }, 'swapped', { v: 1 }])
    assert.equal(value(site, 'config/a.yaml'), 2)
    assert.deepEqual([site.state().loadedAt, site.state().digest], [1_005_000, result.digest])
    // Who took the snapshot before keeps it.
    assert.deepEqual(held.get('config/a.yaml'), { v: 1 })
  })

  it('does nothing when nothing changed, though files were written', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n' })
    const { site, swaps } = await open(t, folder, byHand)
    const before = site.current()
    writeFiles(folder, { 'config/a.yaml': 'v: 1\n', 'config/.a.yaml.swp': 'x' })
    assert.equal((await site.reload('SIGHUP')).outcome, 'unchanged')
    assert.equal(site.current(), before)
    assert.equal(swaps.length, 0)
  })

  it('keeps the last good snapshot on a fault, reports it, and recovers when it is mended or taken back', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n', 'config/b.yaml': 'v: 1\n' })
    const { site, swaps, rejections, lines } = await open(t, folder, byHand)
    const good = site.state().digest
    writeFiles(folder, { 'config/a.yaml': 'v: 2\n  bad: [\n', 'config/b.yaml': 'v: 2\nfault: 1\n' })
    const result = await site.reload('SIGHUP')
    assert.equal(result.outcome, 'rejected')
    assert.equal(
      faultText(result.faults[0]!),
      'config/a.yaml:1:4 the indentation is wrong, or a text that holds ": " lacks quotes',
    )
    assert.equal(faultText(result.faults.at(-1)!), 'config/b.yaml:2:8 fault: is not wanted')
    assert.deepEqual([value(site, 'config/a.yaml'), value(site, 'config/b.yaml')], [1, 1])
    assert.deepEqual(
      [site.state().digest, site.state().faults, site.state().lastReload],
      [good, result.faults, result],
    )
    assert.equal(rejections.length, 1)
    assert.match(lines.at(-1) ?? '', /config\/b\.yaml:2:8 fault: is not wanted.*site rejected/)

    writeFiles(folder, { 'config/a.yaml': 'v: 3\n', 'config/b.yaml': 'v: 3\n' })
    assert.equal((await site.reload('SIGHUP')).outcome, 'swapped')
    assert.deepEqual([value(site, 'config/a.yaml'), site.state().faults, swaps.length], [3, [], 1])

    writeFiles(folder, { 'config/a.yaml': 'fault: 1\n' })
    assert.equal((await site.reload('SIGHUP')).outcome, 'rejected')
    writeFiles(folder, { 'config/a.yaml': 'v: 3\n' })
    assert.equal((await site.reload('SIGHUP')).outcome, 'unchanged')
    assert.deepEqual(site.state().faults, [])
  })

  it('goes on after a build that throws and listeners that fail', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n' })
    const { site } = await open(t, folder, {
      ...byHand,
      build: (files) => {
        const data = files.documents.get('config/a.yaml')?.data as { v: number }
        if (data.v === 2) throw new TypeError('a bug')
        return { snapshot: new Map([['config/a.yaml', data]]), faults: [], warnings: [] }
      },
      onSwap: () => {
        throw new Error('listener')
      },
      onRejected: () => Promise.reject(new Error('listener')),
    })
    writeFiles(folder, { 'config/a.yaml': 'v: 2\n' })
    const bug = await site.reload('one')
    assert.deepEqual(
      [bug.outcome, bug.faults.map(faultText)],
      ['rejected', ['.:1:1 internal error while the site was built: a bug']],
    )
    writeFiles(folder, { 'config/a.yaml': 'v: 3\n' })
    assert.equal((await site.reload('two')).outcome, 'swapped')
    writeFiles(folder, { 'config/a.yaml': 'v: 4\n' })
    assert.equal((await site.reload('three')).outcome, 'swapped')
    assert.equal(value(site, 'config/a.yaml'), 4)
  })

  it('shares the next turn among all who ask while one reload runs', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n' })
    let builds = 0
    const { site } = await open(t, folder, {
      ...byHand,
      build: async (files) => {
        builds++
        await setTimeout(20)
        return {
          snapshot: new Map([...files.documents].map(([path, { data }]) => [path, data])),
          faults: [],
          warnings: [],
        }
      },
    })
    writeFiles(folder, { 'config/a.yaml': 'v: 2\n' })
    const first = site.reload('first')
    await setTimeout(5)
    writeFiles(folder, { 'config/a.yaml': 'v: 3\n' })
    const rest = await Promise.all([site.reload('a'), site.reload('b'), site.reload('c')])
    await first
    // Every caller sees what was written before the call.
    assert.equal(value(site, 'config/a.yaml'), 3)
    assert.equal(new Set(rest).size, 1)
    assert.ok(builds <= 3)
  })

  it('is harmless after closing', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n' })
    const { site } = await open(t, folder)
    await site.close()
    writeFiles(folder, { 'config/a.yaml': 'v: 2\n' })
    assert.equal((await site.reload('late')).outcome, 'unchanged')
    assert.equal(value(site, 'config/a.yaml'), 1)
    await site.close()
  })
})

describe('watching a site', () => {
  it('notices files written, replaced, created, renamed and deleted', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n', 'prompts/x/b.md': '---\nv: 1\n---\n' })
    const { site } = await open(t, folder)
    const has = (path: string): boolean => site.current().has(path)

    writeFiles(folder, { 'prompts/x/b.md': '---\nv: 2\n---\n' })
    await until('a written file is read', () => value(site, 'prompts/x/b.md') === 2)

    // As editors save: a new file takes the name.
    writeFileSync(join(folder, 'config/.a.yaml.new'), 'v: 2\n')
    renameSync(join(folder, 'config/.a.yaml.new'), join(folder, 'config/a.yaml'))
    await until('a replaced file is read', () => value(site, 'config/a.yaml') === 2)

    writeFiles(folder, { 'prompts/new/deep/er/c.md': '---\nv: 1\n---\n' })
    await until('a file in new folders is read', () => value(site, 'prompts/new/deep/er/c.md') === 1)
    writeFiles(folder, { 'prompts/new/deep/er/c.md': '---\nv: 2\n---\n' })
    await until('an edit in a new folder is read', () => value(site, 'prompts/new/deep/er/c.md') === 2)

    renameSync(join(folder, 'prompts/new'), join(folder, 'prompts/moved'))
    await until(
      'a renamed folder is read',
      () => has('prompts/moved/deep/er/c.md') && !has('prompts/new/deep/er/c.md'),
    )
    rmSync(join(folder, 'prompts/moved'), { recursive: true })
    await until('a deleted folder is gone', () => !has('prompts/moved/deep/er/c.md'))
  })

  it('notices top folders that come, go and come again', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n' })
    const { site } = await open(t, folder)
    writeFiles(folder, { 'skills/s/SKILL.md': '---\nv: 1\n---\n' })
    await until('a new top folder is read', () => value(site, 'skills/s/SKILL.md') === 1)
    rmSync(join(folder, 'skills'), { recursive: true })
    await until('a deleted top folder is gone', () => !site.current().has('skills/s/SKILL.md'))
    writeFiles(folder, { 'skills/s/SKILL.md': '---\nv: 2\n---\n' })
    await until('it is read when it comes again', () => value(site, 'skills/s/SKILL.md') === 2)
    writeFiles(folder, { 'skills/s/SKILL.md': '---\nv: 3\n---\n' })
    await until('and edits in it are', () => value(site, 'skills/s/SKILL.md') === 3)
  })

  it('notices the exchange of a mounted ConfigMap', async (t) => {
    const folder = siteFolder(t, { 'config/..1/a.yaml': 'v: 1\n', 'config/..2/a.yaml': 'v: 2\n' })
    symlinkSync('..1', join(folder, 'config/..data'))
    symlinkSync('..data/a.yaml', join(folder, 'config/a.yaml'))
    const { site } = await open(t, folder)
    assert.equal(value(site, 'config/a.yaml'), 1)
    symlinkSync('..2', join(folder, 'config/..data_tmp'))
    renameSync(join(folder, 'config/..data_tmp'), join(folder, 'config/..data'))
    await until('the exchanged file is read', () => value(site, 'config/a.yaml') === 2)
  })

  it('does not read because of hidden files, swap files and files outside its folders', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n', 'var/x': '', '.git/y': '' })
    const { site } = await open(t, folder)
    writeFiles(folder, {
      'config/.a.yaml.swp': 'x',
      'config/a.yaml~': 'x',
      'config/4913': '',
      'var/x': 'more',
      '.git/y': 'more',
      'top.txt': 'x',
    })
    await setTimeout(400)
    assert.equal(site.state().lastReload, undefined)
  })

  it('keeps the last good snapshot on a broken edit, names the place, and recovers by itself', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n' })
    const { site, rejections } = await open(t, folder)
    writeFiles(folder, { 'config/a.yaml': 'v: 2\nfault: yes\n' })
    await until('the edit is rejected', () => rejections.length > 0)
    assert.deepEqual(site.state().faults.map(faultText), ['config/a.yaml:2:8 fault: is not wanted'])
    assert.equal(value(site, 'config/a.yaml'), 1)
    writeFiles(folder, { 'config/a.yaml': 'v: 3\n' })
    await until('the mended file is read', () => value(site, 'config/a.yaml') === 3)
    assert.deepEqual(site.state().faults, [])
  })

  it('tells a link to nothing, which it took for a file that is gone', async (t) => {
    const folder = siteFolder(t, { 'config/a.yaml': 'v: 1\n' })
    const { site, rejections } = await open(t, folder)
    symlinkSync('nothing.yaml', join(folder, 'config/b.yaml'))
    await until('the link is told', () => rejections.length > 0)
    assert.deepEqual(site.state().faults.map(faultText), ['config/b.yaml:1:1 is a link to nothing'])
    rmSync(join(folder, 'config/b.yaml'))
    await until('it is gone', () => site.state().faults.length === 0)
  })

  it('goes on when the whole site was deleted and made again', async (t) => {
    const folder = siteFolder(t, { 'site/config/a.yaml': 'v: 1\n' })
    const { site } = await open(t, join(folder, 'site'))
    rmSync(join(folder, 'site'), { recursive: true })
    const gone = await site.reload('SIGHUP')
    assert.equal(gone.outcome, 'rejected')
    assert.equal(value(site, 'config/a.yaml'), 1)
    writeFiles(folder, { 'site/config/a.yaml': 'v: 2\n' })
    await site.reload('SIGHUP')
    assert.equal(value(site, 'config/a.yaml'), 2)
    writeFiles(folder, { 'site/config/a.yaml': 'v: 3\n' })
    await until('edits in it are noticed again', () => value(site, 'config/a.yaml') === 3)
  })
})

describe('a storm of edits', () => {
  const count = 500
  const versionOf = (version: number): Record<string, string> =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        // Half of the files have other names in even versions, so that files come and go as well.
        `prompts/d${index % 20}/p${index}${index % 2 && version % 2 === 0 ? '-even' : ''}.md`,
        `---\nv: ${version}\n---\n${'text '.repeat(20)}\n`,
      ]),
    )
  const versionsIn = (snapshot: Snapshot): unknown[] => [
    // A file that is just being written is empty for a moment.
    ...new Set([...snapshot.values()].map((data) => (data as { v: unknown } | null)?.v)),
  ]

  /** Asks for the current snapshot as requests do, all the time, until told to stop. */
  function readers(site: Site<Snapshot>): { readonly stop: () => Promise<Snapshot[]> } {
    const seen = new Set<Snapshot>()
    const asking = new AbortController()
    const ask = async (): Promise<void> => {
      while (!asking.signal.aborted) {
        const snapshot = site.current()
        assert.equal(snapshot.size, count)
        seen.add(snapshot)
        await setTimeout(1)
      }
    }
    const all = Promise.all(Array.from({ length: 8 }, ask))
    return {
      stop: async () => {
        asking.abort()
        await all
        return [...seen]
      },
    }
  }

  it(
    'of git, back and forth between branches, never shows a mix and swaps few times',
    { skip: withoutGit() },
    async (t) => {
      const folder = siteFolder(t, versionOf(1))
      gitIn(folder, 'init', '--quiet', '--initial-branch=one')
      gitIn(folder, 'add', '--all')
      gitIn(folder, 'commit', '--quiet', '--message=one')
      gitIn(folder, 'checkout', '--quiet', '-b', 'two')
      rmSync(join(folder, 'prompts'), { recursive: true })
      writeFiles(folder, versionOf(2))
      gitIn(folder, 'add', '--all')
      gitIn(folder, 'commit', '--quiet', '--message=two')

      const { site, swaps, rejections } = await open(t, folder)
      const asking = readers(site)
      const checkouts = 6
      for (let run = 0; run < checkouts; run++) {
        gitIn(folder, 'checkout', '--quiet', run % 2 ? 'two' : 'one')
        await setTimeout(run * 30)
      }
      await gitBeside(folder, 'checkout', '--quiet', 'one')
      await until(
        'the last checkout is in use',
        () => versionsIn(site.current()).join() === '1' && site.state().faults.length === 0,
      )
      const seen = await asking.stop()
      for (const snapshot of seen) assert.equal(versionsIn(snapshot).length, 1)
      assert.ok(swaps.length <= checkouts + 1, `${swaps.length} swaps`)
      assert.deepEqual(rejections, [])
    },
  )

  it('of a script that rewrites every file ends with all of it, in few swaps', async (t) => {
    const folder = siteFolder(t, versionOf(1))
    const { site, swaps, rejections } = await open(t, folder, { debounceMs: 150 })
    const asking = readers(site)
    for (const version of [3, 5]) {
      for (const [path, text] of Object.entries(versionOf(version))) await writeFile(join(folder, path), text)
    }
    await until('the last version is in use', () => versionsIn(site.current()).join() === '5')
    await asking.stop()
    assert.ok(swaps.length <= 10, `${swaps.length} swaps of ${2 * count} edits`)
    assert.deepEqual(rejections, [])
  })

  it('of broken and mended files never reaches anybody', async (t) => {
    const folder = siteFolder(t, versionOf(1))
    const { site } = await open(t, folder)
    const asking = readers(site)
    for (let run = 0; run < 10; run++) {
      writeFiles(folder, { 'prompts/d0/p0.md': '---\nv: [\n---\n' })
      await setTimeout(run * 12)
      writeFiles(folder, { 'prompts/d0/p0.md': '---\nv: 1\n---\n' })
      mkdirSync(join(folder, 'prompts/empty'), { recursive: true })
    }
    await until('the site is free of faults', () => site.state().faults.length === 0)
    for (const snapshot of await asking.stop()) assert.deepEqual(versionsIn(snapshot), [1])
  })
})
