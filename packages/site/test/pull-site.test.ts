import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '#leaf/errors.ts'
import { openRepository } from '#site/repository.ts'
import {
  cloneSite,
  finishCheckout,
  isEmptySite,
  type Pulled,
  pullSite,
  type PullParts,
} from '#site/pull-site.ts'
import { siteLimits } from '#site/read-site.ts'
import type { SiteFiles } from '#site/site-files.ts'
import { startGitServer } from './git-server.ts'
import { gitIn, siteFolder, withoutGit, writeFiles } from './site-folder.ts'

const skip = withoutGit()

/** A bare repository, where somebody works on it, and a checkout that is pulled. */
interface Place {
  readonly bare: string
  readonly work: string
  readonly site: string
  readonly url: string
  /** Commits files there and pushes them; answers the commit. */
  readonly push: (files: Readonly<Record<string, string | Uint8Array>>, ...how: string[]) => string
  readonly pull: (
    parts?: Partial<PullParts> & { readonly ref?: string; readonly url?: string },
  ) => Promise<Pulled>
}

const good = (files: SiteFiles): Promise<SiteFiles['faults']> => Promise.resolve(files.faults)

function place(t: TestContext, files: Readonly<Record<string, string>> = { 'prompts/a.md': 'one\n' }): Place {
  const top = siteFolder(t)
  const [bare, work, site] = ['bare.git', 'work', 'site'].map((name) => join(top, name)) as [
    string,
    string,
    string,
  ]
  gitIn(top, 'init', '--quiet', '--bare', '--initial-branch=main', bare)
  gitIn(top, 'init', '--quiet', '--initial-branch=main', work)
  gitIn(work, 'remote', 'add', 'origin', bare)
  const url = `file://${bare}`
  const push: Place['push'] = (changed, ...how) => {
    writeFiles(work, changed)
    gitIn(work, 'add', '--all')
    gitIn(work, 'commit', '--quiet', '--allow-empty', '--message', 'more')
    gitIn(work, 'push', '--quiet', ...how, 'origin', 'HEAD:main')
    return gitIn(work, 'rev-parse', 'HEAD')
  }
  push(files)
  gitIn(top, 'clone', '--quiet', bare, site)
  return {
    bare,
    work,
    site,
    url,
    push,
    pull: ({ ref = 'main', url: from = url, ...parts } = {}) =>
      pullSite(
        site,
        {
          url: from,
          ref,
          credentials_file: null,
        },
        {
          check: good,
          signal: new AbortController().signal,
          ...parts,
        },
      ),
  }
}

const head = (folder: string): string => gitIn(folder, 'rev-parse', 'HEAD')
const read = (folder: string, path = 'prompts/a.md'): string => readFileSync(join(folder, path), 'utf8')
const isApp = (code: string) => (error: unknown) => error instanceof AppError && error.code === code

describe('a site that is pulled', { skip }, () => {
  it('goes forward with the branch, the tag or HEAD that is named, and has nothing to do when it is there', async (t) => {
    const { site, work, push, pull } = place(t)
    const first = head(site)
    assert.deepEqual(await pull(), {
      outcome: 'same',
      commit: first,
      seen: first,
      problem: '',
      faults: [],
    })
    const second = push({ 'prompts/a.md': 'two\n', 'skills/x/y.txt': 'y' })
    const done = await pull()
    assert.deepEqual([done.outcome, done.commit, done.problem], ['pulled', second, ''])
    assert.deepEqual([head(site), read(site), read(site, 'skills/x/y.txt')], [second, 'two\n', 'y'])
    assert.equal(gitIn(site, 'status', '--porcelain'), '')
    assert.equal(gitIn(site, 'symbolic-ref', 'HEAD'), 'refs/heads/main')

    rmSync(join(work, 'skills'), { recursive: true })
    const third = push({ 'prompts/a.md': 'three\n' })
    gitIn(work, 'tag', '--annotate', '--message', 'm', 'v1')
    push({ 'prompts/a.md': 'four\n' })
    gitIn(work, 'push', '--quiet', 'origin', 'v1')
    assert.equal((await pull({ ref: 'v1' })).commit, third)
    assert.deepEqual([read(site), existsSync(join(site, 'skills'))], ['three\n', false])
    assert.equal((await pull({ ref: 'HEAD' })).outcome, 'pulled')
    assert.equal(read(site), 'four\n')
    assert.match(
      (await pull({ ref: 'nowhere' })).problem,
      /nowhere of file:.* could not be fetched: .*refs\/tags\/nowhere/,
    )
  })

  it('stays where it is when the commit has faults, tells file, line and column, and looks anew when the ref moves', async (t) => {
    const { site, push, pull } = place(t)
    const first = head(site)
    const bad = push({ 'prompts/a.md': 'two\n', 'config/users.yaml': 'users:\n  - a: 1\n    a: 2\n' })
    const refused = await pull()
    assert.deepEqual([refused.outcome, refused.commit, refused.seen], ['refused', first, bad])
    assert.deepEqual(refused.faults, [
      `${bad.slice(0, 12)}:config/users.yaml:3:5 "a" is given twice in the same map`,
    ])
    assert.deepEqual([head(site), read(site), existsSync(join(site, 'config'))], [first, 'one\n', false])
    let checks = 0
    const check = (files: SiteFiles): Promise<SiteFiles['faults']> => (checks++, good(files))
    assert.deepEqual(await pull({ before: refused, check }), refused)
    assert.equal(checks, 0)
    const mended = push({ 'config/users.yaml': 'users: []\n' })
    assert.equal((await pull({ before: refused, check })).commit, mended)
    assert.deepEqual([checks, head(site), read(site)], [1, mended, 'two\n'])
  })

  it('does not follow a branch that was rewritten', async (t) => {
    const { site, work, push, pull } = place(t)
    push({ 'prompts/a.md': 'two\n' })
    const { commit } = await pull()
    gitIn(work, 'reset', '--quiet', '--hard', 'HEAD~1')
    const other = push({ 'prompts/a.md': 'another\n' }, '--force')
    const { outcome, problem, seen } = await pull()
    assert.deepEqual([outcome, seen], ['refused', other])
    assert.match(problem, /main was rewritten: .* does not continue .*git reset --hard/)
    assert.deepEqual([head(site), read(site)], [commit, 'two\n'])
    gitIn(site, 'reset', '--quiet', '--hard', other)
    assert.equal((await pull()).outcome, 'same')
  })

  it('touches no change and no commit that was made here', async (t) => {
    const { site, push, pull } = place(t, {
      'prompts/a.md': 'one\n',
      'prompts/b.md': 'b\n',
      'notes.txt': 'n\n',
    })
    const first = head(site)
    push({ 'prompts/a.md': 'two\n', 'notes.txt': 'theirs\n', 'prompts/new.md': 'theirs\n' })
    const refuses = async (pattern: RegExp): Promise<void> => {
      const { outcome, problem } = await pull()
      assert.equal(outcome, 'refused')
      assert.match(problem, pattern)
      assert.equal(head(site), first)
    }
    writeFiles(site, { 'prompts/b.md': 'mine\n' })
    await refuses(/changes here that are not committed: prompts\/b\.md;/)
    gitIn(site, 'checkout', '--quiet', '--', '.')
    writeFiles(site, { 'prompts/new.md': 'mine\n' })
    await refuses(/not committed: prompts\/new\.md;/)
    assert.equal(read(site, 'prompts/new.md'), 'mine\n')
    rmSync(join(site, 'prompts/new.md'))
    writeFiles(site, { 'notes.txt': 'mine\n' })
    await refuses(/could not be checked out: .*notes\.txt/)
    assert.deepEqual([read(site, 'notes.txt'), read(site)], ['mine\n', 'one\n'])
    gitIn(site, 'checkout', '--quiet', '--', '.')
    writeFiles(site, { 'prompts/.a.md.swp': 'an editor is open', 'var/state': 's' })
    gitIn(site, 'rm', '--quiet', 'prompts/b.md')
    gitIn(site, 'commit', '--quiet', '--message', 'local')
    const local = head(site)
    const { outcome, problem } = await pull()
    assert.equal(outcome, 'refused')
    assert.match(problem, /there are commits here that main does not have, such as [0-9a-f]{12}; push them/)
    assert.equal(head(site), local)
    gitIn(site, 'reset', '--quiet', '--hard', first)
    assert.equal((await pull()).outcome, 'pulled')
    assert.equal(read(site, 'prompts/.a.md.swp'), 'an editor is open')
  })

  it('brings the other branches along, as site/BRANCH', async (t) => {
    const { site, work, pull } = place(t)
    gitIn(work, 'push', '--quiet', 'origin', 'HEAD:refs/heads/next')
    await pull()
    const repository = (await openRepository(site))!
    assert.equal(await repository.resolve('site/next'), head(work))
    gitIn(work, 'push', '--quiet', '--delete', 'origin', 'next')
    await pull()
    assert.equal(await repository.resolve('site/next'), undefined)
  })

  it('completes a shallow history, by which versions of prompts are counted', async (t) => {
    const { bare, site, push, pull } = place(t)
    push({ 'prompts/a.md': 'two\n' })
    push({ 'prompts/a.md': 'three\n' })
    rmSync(site, { recursive: true })
    gitIn(join(site, '..'), 'clone', '--quiet', '--depth=1', `file://${bare}`, site)
    const revisions = async (): Promise<number> =>
      (await (await openRepository(site))!.revisions('HEAD', ['prompts'])).length
    assert.equal(await revisions(), 1)
    push({ 'prompts/a.md': 'four\n' })
    assert.equal((await pull()).outcome, 'pulled')
    assert.equal(await revisions(), 4)
  })

  it('is the part of a repository that the site lies in', async (t) => {
    const { site, push } = place(t, { 'deploy/prompts/a.md': 'one\n', 'README.md': 'r\n' })
    push({ 'deploy/prompts/a.md': 'two\n', 'README.md': 'more\n' })
    const folder = join(site, 'deploy')
    const url = gitIn(site, 'config', 'remote.origin.url')
    const source = { url: `file://${url}`, ref: 'main', credentials_file: null }
    const parts = { check: good, signal: new AbortController().signal }
    assert.equal((await pullSite(folder, source, parts)).outcome, 'pulled')
    assert.deepEqual([read(folder), read(site, 'README.md')], ['two\n', 'more\n'])
  })

  it('says that there is no repository to pull into', async (t) => {
    const { url } = place(t)
    const folder = siteFolder(t, { 'prompts/a.md': 'a' })
    const parts = { check: good, signal: new AbortController().signal }
    const { outcome, problem } = await pullSite(folder, { url, ref: 'main', credentials_file: null }, parts)
    assert.equal(outcome, 'refused')
    assert.match(problem, /the site is not in a git repository that has a commit/)
  })

  it('waits for a server that does not answer no longer than it may, and ends when it shall', async (t) => {
    const { site, pull } = place(t)
    const sockets = new Set<Socket>()
    const silent: Server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      for (const socket of sockets) socket.destroy()
      silent.close()
    })
    const url = `https://127.0.0.1:${(silent.address() as { port: number }).port}/site.git`
    const first = head(site)
    const late = await pull({ url, milliseconds: 500 })
    assert.match(late.problem, /could not be fetched: it was ended after 0\.5 seconds/)
    const stopping = new AbortController()
    const pulling = pull({ url, signal: stopping.signal })
    while (sockets.size < 2) await new Promise((resolve) => setImmediate(resolve))
    stopping.abort()
    assert.match((await pulling).problem, /the service is stopping/)
    silent.close()
    for (const socket of sockets) socket.destroy()
    const dead = await pull({ url: 'https://127.0.0.1:1/site.git' })
    assert.match(dead.problem, /could not be fetched: .*(refused|connect)/i)
    assert.equal(head(site), first)
  })

  it('finishes a checkout that was cut off, and leaves alone one that may be under way', async (t) => {
    const { site, push } = place(t)
    const first = head(site)
    const second = push({ 'prompts/a.md': 'two\n', 'prompts/b.md': 'b\n' })
    gitIn(site, 'fetch', '--quiet', 'origin', 'main')
    assert.equal(await finishCheckout(site), undefined)
    gitIn(site, 'update-ref', 'refs/worktree/assistant-core/pending', second)
    // As a power cut leaves it: half the files, git's lock, the old commit.
    writeFiles(site, { 'prompts/b.md': 'b', '.git/index.lock': '' })
    assert.equal(await finishCheckout(site), undefined, 'the lock is young')
    assert.equal(head(site), first)
    utimesSync(join(site, '.git/index.lock'), 1, 1)
    assert.equal(await finishCheckout(site), second)
    assert.deepEqual([head(site), read(site), read(site, 'prompts/b.md')], [second, 'two\n', 'b\n'])
    assert.equal(gitIn(site, 'status', '--porcelain'), '')
    assert.equal(await finishCheckout(site), undefined)
  })

  it('may lie in a folder that several daemons pull into at once', async (t) => {
    const { site, push, pull } = place(t)
    for (let n = 0; n < 3; n++) {
      const commit = push({ 'prompts/a.md': `${n}\n` })
      const all = await Promise.all([pull(), pull(), pull()])
      assert.deepEqual(
        all.map((one) => [one.commit, one.problem]),
        all.map(() => [commit, '']),
      )
      assert.equal(gitIn(site, 'status', '--porcelain'), '')
    }
  })

  it('does not take for work of people what another daemon is checking out', async (t) => {
    const { site, push, pull } = place(t)
    const commit = push({ 'prompts/a.md': 'two\n' })
    gitIn(site, 'fetch', '--quiet', 'origin')
    gitIn(site, 'update-ref', 'refs/worktree/assistant-core/pending', commit)
    writeFileSync(join(site, 'prompts/a.md'), 'two\n')
    const pulling = pull()
    assert.equal(await Promise.race([pulling, delay(500)]), undefined, 'it waits for the other')
    gitIn(site, 'reset', '--quiet', '--hard', commit)
    gitIn(site, 'update-ref', '-d', 'refs/worktree/assistant-core/pending')
    const { commit: now, problem } = await pulling
    assert.deepEqual([now, problem], [commit, ''])
  })

  it('leaves alone what another daemon is fetching when that one holds the lock', async (t) => {
    const { site, push, pull } = place(t)
    const theirs = join(site, '.git/objects/pack/tmp_idx_theirs')
    writeFileSync(theirs, 'half')
    const lock = join(site, '.git/refs/remotes/site/main.lock')
    mkdirSync(join(lock, '..'), { recursive: true })
    writeFileSync(lock, '')
    const commit = push({ 'prompts/a.md': 'two\n' })
    assert.match((await pull()).problem, /could not be fetched: .*lock/)
    assert.equal(existsSync(theirs), true)
    rmSync(lock)
    assert.deepEqual([(await pull()).commit, existsSync(theirs)], [commit, true])
  })
})

describe('a hostile repository', { skip }, () => {
  it('has none of its programs run, neither hooks nor filters, and no submodule fetched', async (t) => {
    const { site, work, push, pull } = place(t)
    const sprung = join(site, '..', 'sprung')
    const trap = join(site, '..', 'trap.sh')
    writeFileSync(trap, `#!/bin/sh\ntouch ${sprung}\ncat\n`)
    chmodSync(trap, 0o755)
    mkdirSync(join(site, '.git/hooks'), { recursive: true })
    for (const hook of [
      'post-checkout',
      'post-merge',
      'reference-transaction',
      'post-index-change',
      'pre-auto-gc',
    ])
      writeFileSync(join(site, '.git/hooks', hook), `#!/bin/sh\ntouch ${sprung}\n`, { mode: 0o755 })
    for (const key of [
      'core.fsmonitor',
      'core.sshCommand',
      'core.askPass',
      'credential.helper',
      'filter.trap.clean',
      'filter.trap.smudge',
      'filter.trap.process',
    ])
      gitIn(site, 'config', key, trap)
    gitIn(site, 'config', 'filter.trap.required', 'true')
    writeFiles(work, { '.gitmodules': `[submodule "sub"]\n\tpath = sub\n\turl = ext::${trap}\n` })
    gitIn(work, 'update-index', '--add', '--cacheinfo', `160000,${head(work)},sub`)
    push({ '.gitattributes': '* filter=trap\n', 'prompts/a.md': 'two\n' })
    const { outcome, problem } = await pull()
    assert.deepEqual([outcome, problem], ['pulled', ''])
    assert.equal(read(site), 'two\n')
    assert.equal(existsSync(sprung), false)
    // The traps do work.
    gitIn(site, 'config', '--unset', 'core.fsmonitor')
    gitIn(site, 'config', '--unset', 'filter.trap.process')
    rmSync(join(site, 'prompts/a.md'))
    gitIn(site, 'checkout', '--', 'prompts/a.md')
    assert.equal(existsSync(sprung), true)
  })

  it('is not checked out with links that leave the site, or a link in the place of its folders', async (t) => {
    const { site, work, push, pull } = place(t)
    const first = head(site)
    mkdirSync(join(work, 'prompts'), { recursive: true })
    symlinkSync('/etc/passwd', join(work, 'prompts/b.md'))
    push({})
    assert.match((await pull()).faults[0]!, /prompts\/b\.md:1:1 is a link to a place outside config, prompts/)
    rmSync(join(work, 'prompts/b.md'))
    symlinkSync('prompts', join(work, 'config'))
    push({})
    assert.match((await pull()).faults[0]!, /:config:1:1 must be a folder of the site itself/)
    assert.deepEqual([head(site), existsSync(join(site, 'config'))], [first, false])
    rmSync(join(work, 'config'))
    symlinkSync('/etc', join(work, 'elsewhere'))
    push({ 'prompts/a.md': 'two\n' })
    assert.equal((await pull()).outcome, 'pulled', 'what is not of the site is none of its business')
    assert.ok(lstatSync(join(site, 'elsewhere')).isSymbolicLink())
  })

  it('is not checked out with a file that is too large, wherever that lies', async (t) => {
    const { site, push, pull } = place(t)
    const first = head(site)
    push({ 'docs/zeros.bin': new Uint8Array(40 * 1024 * 1024) })
    assert.match((await pull()).faults[0]!, /docs\/zeros\.bin:1:1 has 41943040 bytes; the most for a file is/)
    assert.deepEqual([head(site), existsSync(join(site, 'docs'))], [first, false])
  })

  it('is not checked out when its files together are too large, though none is', async (t) => {
    const { site, work, pull } = place(t)
    const first = head(site)
    const count = Math.floor(siteLimits.totalBytes / siteLimits.assetBytes) + 1
    // One file under many names: git keeps it once.
    writeFiles(work, { zeros: new Uint8Array(siteLimits.assetBytes) })
    const blob = gitIn(work, 'hash-object', '-w', 'zeros')
    for (let n = 0; n < count; n++)
      gitIn(work, 'update-index', '--add', '--cacheinfo', `100644,${blob},docs/${n}.bin`)
    gitIn(work, 'commit', '--quiet', '--message', 'more')
    gitIn(work, 'push', '--quiet', 'origin', 'HEAD:main')
    const bytes = count * siteLimits.assetBytes + 'one\n'.length
    assert.match(
      (await pull()).faults[0]!,
      new RegExp(`has ${count + 1} files and ${bytes} bytes, which is too much for a site`),
    )
    assert.deepEqual([head(site), existsSync(join(site, 'docs'))], [first, false])
  })

  it('does not get anything fetched that is broken on purpose', async (t) => {
    const { site, work, pull } = place(t)
    const first = head(site)
    const blob = gitIn(work, 'hash-object', '-w', 'prompts/a.md')
    // A tree with a ".git" in it.
    const tree = gitIn(work, 'rev-parse', 'HEAD^{tree}')
    writeFileSync(
      join(work, '.git/evil'),
      Buffer.concat([
        Buffer.from('100644 .git\0'),
        Buffer.from(blob, 'hex'),
        Buffer.from('40000 prompts\0'),
        Buffer.from(gitIn(work, 'rev-parse', `${tree}:prompts`), 'hex'),
      ]),
    )
    const evil = gitIn(work, 'hash-object', '-w', '-t', 'tree', '--literally', '.git/evil')
    const commit = gitIn(work, 'commit-tree', evil, '-p', 'HEAD', '-m', 'evil')
    gitIn(work, 'push', '--quiet', 'origin', `${commit}:refs/heads/main`)
    const { outcome, problem } = await pull()
    assert.equal(outcome, 'refused')
    assert.match(problem, /could not be fetched/)
    assert.equal(head(site), first)
  })
})

describe('an empty folder', { skip }, () => {
  it('becomes a checkout of the repository, in the place of the settings that named it', async (t) => {
    const { bare, url } = place(t, { 'config/settings.yaml': 'version: 2\n', 'prompts/a.md': 'one\n' })
    const source = { url, ref: 'main', credentials_file: null }
    const folder = siteFolder(t, {
      'config/settings.yaml': `site: { git: { url: '${url}' } }\n`,
      'var/x': 'x',
    })
    assert.equal(await isEmptySite(folder), true)
    assert.equal(await cloneSite(folder, source, good), gitIn(bare, 'rev-parse', 'main'))
    assert.deepEqual([read(folder), read(folder, 'config/settings.yaml')], ['one\n', 'version: 2\n'])
    assert.match(read(folder, 'config/settings.yaml.orig'), /site:/)
    assert.equal(read(folder, 'var/x'), 'x')
    assert.equal(await isEmptySite(folder), false)
    assert.equal(await isEmptySite(siteFolder(t, { 'prompts/a.md': 'a' })), false)
    const parts = { check: good, signal: new AbortController().signal }
    assert.equal((await pullSite(folder, source, parts)).outcome, 'same')
  })

  it('stays as it is when the repository cannot be reached or has faults', async (t) => {
    const { url, bare } = place(t, { 'config/settings.yaml': 'a: 1\na: 2\n' })
    const folder = siteFolder(t)
    const source = { url, ref: 'main', credentials_file: null }
    await assert.rejects(
      cloneSite(folder, source, good),
      (error) =>
        isApp('invalid')(error) && /:config\/settings\.yaml:2:1 "a" is given twice/.test(String(error)),
    )
    assert.equal(await isEmptySite(folder), true)
    await assert.rejects(
      cloneSite(folder, { ...source, url: `file://${bare}-gone` }, good),
      isApp('unavailable'),
    )
    assert.equal(await isEmptySite(folder), true)
  })
})

describe('a repository behind https', { skip }, () => {
  it('is pulled with credentials that neither a message nor the process list shows', async (t) => {
    const { bare, site, push } = place(t)
    const server = await startGitServer(t, bare, 'robot:s3cr3t-token')
    gitIn(site, 'config', 'http.sslCAInfo', server.authority)
    const second = push({ 'prompts/a.md': 'two\n' })
    const file = join(
      siteFolder(t, { pair: 'robot:s3cr3t-token\n', wrong: 'robot:wrong-token\n', none: '\n' }),
      'pair',
    )
    const parts = { check: good, signal: new AbortController().signal }
    const pull = (credentials_file: string | null): Promise<Pulled> =>
      pullSite(site, { url: server.url, ref: 'main', credentials_file }, parts)
    for (const wrong of [null, join(file, '../wrong')]) {
      const { outcome, problem } = await pull(wrong)
      assert.equal(outcome, 'refused')
      assert.match(problem, /could not be fetched: .*(Authentication|terminal prompts|Username)/)
      assert.doesNotMatch(problem, /wrong-token/)
    }
    assert.match((await pull(join(file, '../none'))).problem, /credentials_file: .* does not hold user:token/)
    assert.match(
      (await pull(join(file, '../missing'))).problem,
      /credentials_file: .* cannot be read \(ENOENT\)/,
    )
    const lines: string[] = []
    server.onRequest(() => lines.push(...server.processes()))
    const done = await pull(file)
    assert.deepEqual([done.outcome, done.commit], ['pulled', second])
    assert.ok(
      lines.some((line) => line.includes('git') && line.includes(server.url)),
      'git was seen at work',
    )
    const secrets = ['s3cr3t', Buffer.from('robot:s3cr3t-token').toString('base64')]
    for (const secret of secrets) assert.ok(!lines.some((line) => line.includes(secret)))
    assert.doesNotMatch(readFileSync(join(site, '.git/config'), 'utf8'), /s3cr3t|Authorization/)
  })

  it('is not followed to another address', async (t) => {
    const { bare, site, push } = place(t)
    const server = await startGitServer(t, bare, undefined)
    gitIn(site, 'config', 'http.sslCAInfo', server.authority)
    push({ 'prompts/a.md': 'two\n' })
    const parts = { check: good, signal: new AbortController().signal }
    const source = { url: server.url.replace('site.git', 'moved.git'), ref: 'main', credentials_file: null }
    assert.match((await pullSite(site, source, parts)).problem, /could not be fetched: .*(redirect|302)/i)
    assert.equal((await pullSite(site, { ...source, url: server.url }, parts)).outcome, 'pulled')
  })
})
