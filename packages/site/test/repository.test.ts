import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import { openRepository, type Repository } from '#site/repository.ts'
import { readSiteAt } from '#site/read-site-at.ts'
import { readSite } from '#site/read-site.ts'
import { faultText } from '#site/site-files.ts'
import { gitIn, siteFolder, withoutGit, writeFiles } from './site-folder.ts'

const skip = withoutGit()

/** A repository on branch main with one commit of these files. */
function repositoryFolder(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = siteFolder(t, files)
  gitIn(folder, 'init', '--quiet', '--initial-branch=main')
  commitAll(folder, 'first')
  return folder
}

function commitAll(folder: string, message: string): string {
  gitIn(folder, 'add', '--all')
  gitIn(folder, 'commit', '--quiet', '--message', message)
  return gitIn(folder, 'rev-parse', 'HEAD')
}

async function opened(folder: string): Promise<Repository> {
  const repository = await openRepository(folder)
  assert.ok(repository)
  return repository
}

const text = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes).toString('utf8')

describe('a site in a git repository', { skip }, () => {
  it('knows its commits, also under the names that a file had before', async (t) => {
    const folder = repositoryFolder(t, { 'prompts/a.md': 'one\ntwo\nthree\n' })
    const first = gitIn(folder, 'rev-parse', 'HEAD')
    gitIn(folder, 'mv', 'prompts/a.md', 'prompts/b c – d.md')
    const second = commitAll(folder, 'rename: "quotes" – and dashes')
    writeFiles(folder, { 'prompts/b c – d.md': 'one\ntwo\nthree\nfour\n' })
    const third = commitAll(folder, 'third')
    const repository = await opened(folder)
    assert.equal(await repository.head(), third)
    const history = await repository.history('prompts/b c – d.md')
    assert.deepEqual(
      history.map(({ commit, path, subject }) => ({ commit, path, subject })),
      [
        { commit: third, path: 'prompts/b c – d.md', subject: 'third' },
        { commit: second, path: 'prompts/b c – d.md', subject: 'rename: "quotes" – and dashes' },
        { commit: first, path: 'prompts/a.md', subject: 'first' },
      ],
    )
    assert.deepEqual([history[0]?.authorName, history[0]?.authorEmail], ['Pat Person', 'pat@example.com'])
    assert.equal(history[0]?.time, Number(gitIn(folder, 'log', '-1', '--format=%at')) * 1000)
    assert.equal((await repository.history('prompts/b c – d.md', 1)).length, 1)
    assert.deepEqual(await repository.history('prompts/never.md'), [])
  })

  it('reads a file at a branch, tag or commit', async (t) => {
    const folder = repositoryFolder(t, { 'prompts/a.md': 'one' })
    gitIn(folder, 'tag', 'v1')
    gitIn(folder, 'checkout', '--quiet', '-b', 'next/big-thing')
    writeFiles(folder, { 'prompts/a.md': 'two' })
    commitAll(folder, 'second')
    const repository = await opened(folder)
    const at = async (ref: string) => text(await repository.contentAt('prompts/a.md', ref))
    assert.deepEqual(await Promise.all(['main', 'v1', 'next/big-thing', 'HEAD~1', 'nope'].map(at)), [
      'one',
      'one',
      'two',
      'one',
      undefined,
    ])
    assert.equal(await repository.contentAt('prompts/b.md', 'main'), undefined)
  })

  it('takes no option, range, search or path for a revision, and no path out of the site', async (t) => {
    const folder = repositoryFolder(t, { 'prompts/a.md': 'one' })
    const repository = await opened(folder)
    const victim = join(folder, 'victim')
    for (const ref of [
      `--output=${victim}`,
      '-h',
      'main..main',
      ':/first',
      'HEAD:prompts',
      'main main',
      '',
      'a\nb',
      '$(touch x)',
      '^main',
    ]) {
      assert.equal(await repository.resolve(ref), undefined, ref)
    }
    assert.equal(existsSync(victim), false)
    for (const path of ['../x', '/etc/passwd', 'a/../../b', '', 'a\0b']) {
      await assert.rejects(repository.contentAt(path, 'HEAD'), AppError, path)
    }
    // No pathspec magic, no option.
    assert.deepEqual(await repository.history(':(top)prompts/a.md'), [])
    assert.deepEqual(await repository.history('*'), [])
    assert.deepEqual(await repository.history('--all'), [])
  })

  it('commits the paths that are named, in the name of a user, and nothing else', async (t) => {
    const folder = repositoryFolder(t, {
      'prompts/a.md': 'a',
      'prompts/b.md': 'b',
      'config/x.yaml': 'x: 1\n',
    })
    writeFiles(folder, {
      'prompts/a.md': 'a2',
      'prompts/new.md': 'n',
      'config/x.yaml': 'x: 2\n',
      'staged.txt': 's',
    })
    rmSync(join(folder, 'prompts/b.md'))
    gitIn(folder, 'add', 'staged.txt')
    const repository = await opened(folder)
    const commit = await repository.commit({
      paths: ['prompts/a.md', 'prompts/new.md', 'prompts/b.md'],
      message: '-m: not an option\n\n# body stays out of the shell `$(id)`',
      authorName: 'Jane <Doe>\n',
      authorEmail: 'jane@example.com',
    })
    assert.equal(commit, gitIn(folder, 'rev-parse', 'HEAD'))
    assert.equal(
      gitIn(folder, 'log', '-1', '--format=%an|%ae|%cn|%s'),
      'Jane  Doe|jane@example.com|Jane  Doe|-m: not an option',
    )
    assert.deepEqual(gitIn(folder, 'show', '--name-status', '--format=', 'HEAD').split('\n'), [
      'M\tprompts/a.md',
      'D\tprompts/b.md',
      'A\tprompts/new.md',
    ])
    assert.deepEqual(
      gitIn(folder, 'status', '--porcelain')
        .split('\n')
        .map((line) => line.trim()),
      ['M config/x.yaml', 'A  staged.txt'],
    )
    const again = { paths: ['prompts/a.md'], message: 'm', authorName: 'J', authorEmail: 'j@example.com' }
    assert.equal(await repository.commit(again), undefined)
    assert.equal(gitIn(folder, 'rev-parse', 'HEAD'), commit)
  })

  it('makes many commits at once, one after the other', async (t) => {
    const folder = repositoryFolder(t, { 'prompts/a.md': 'a' })
    const repository = await opened(folder)
    const names = Array.from({ length: 8 }, (_, index) => `prompts/p${index}.md`)
    writeFiles(folder, Object.fromEntries(names.map((name) => [name, name])))
    const commits = await Promise.all(
      names.map((path) =>
        repository.commit({ paths: [path], message: path, authorName: 'J', authorEmail: 'j@e.c' }),
      ),
    )
    assert.equal(new Set(commits).size, 8)
    assert.equal(gitIn(folder, 'rev-list', '--count', 'HEAD'), '9')
  })

  it('says what git complains about when it cannot commit, and changes nothing', async (t) => {
    const folder = repositoryFolder(t, { 'prompts/a.md': 'a' })
    const repository = await opened(folder)
    writeFiles(folder, { 'prompts/a.md': 'b', '.git/index.lock': '' })
    const request = { paths: ['prompts/a.md'], message: 'm', authorName: 'J', authorEmail: 'j@e.c' }
    await assert.rejects(
      repository.commit(request),
      (error) => error instanceof AppError && error.code === 'conflict',
    )
    rmSync(join(folder, '.git/index.lock'))
    assert.equal(gitIn(folder, 'rev-list', '--count', 'HEAD'), '1')
    assert.notEqual(await repository.commit(request), undefined)
    await assert.rejects(repository.commit({ ...request, paths: ['../x'] }), AppError)
  })

  it('commits nothing in the middle of a merge, and leaves what is staged as it is', async (t) => {
    const folder = repositoryFolder(t, { 'prompts/a.md': 'a\n' })
    gitIn(folder, 'checkout', '--quiet', '-b', 'other')
    writeFiles(folder, { 'prompts/a.md': 'other\n' })
    commitAll(folder, 'other')
    gitIn(folder, 'checkout', '--quiet', 'main')
    writeFiles(folder, { 'prompts/a.md': 'main\n' })
    commitAll(folder, 'main')
    assert.throws(() => gitIn(folder, 'merge', 'other'))
    const before = gitIn(folder, 'rev-parse', 'HEAD')
    const repository = await opened(folder)
    const request = { paths: ['prompts/a.md'], message: 'm', authorName: 'J', authorEmail: 'j@e.c' }
    await assert.rejects(repository.commit(request), /in the middle of a merge/)
    assert.equal(gitIn(folder, 'rev-parse', 'HEAD'), before)
    assert.match(gitIn(folder, 'status', '--porcelain'), /^(AA|UU) prompts\/a\.md$/)
  })

  it('commits in a subfolder and in a worktree of its own', async (t) => {
    const top = repositoryFolder(t, { 'site/prompts/a.md': 'a' })
    const tree = join(siteFolder(t), 'tree')
    gitIn(top, 'worktree', 'add', '--quiet', '-b', 'next', tree)
    const repository = await opened(join(tree, 'site'))
    writeFiles(tree, { 'site/prompts/a.md': 'b' })
    const commit = await repository.commit({
      paths: ['prompts/a.md'],
      message: 'm',
      authorName: 'J',
      authorEmail: 'j@e.c',
    })
    assert.equal(gitIn(top, 'rev-parse', 'next'), commit)
    assert.equal(gitIn(top, 'show', 'next:site/prompts/a.md'), 'b')
    assert.equal(gitIn(tree, 'status', '--porcelain'), '')
    assert.equal(gitIn(top, 'show', 'main:site/prompts/a.md'), 'a')
    assert.match(repository.lockFile, /worktrees\/tree\/index\.lock$/)
  })

  it('runs none of the programs that the repository configures', async (t) => {
    const folder = repositoryFolder(t, { 'prompts/a.md': 'a' })
    const trap = join(folder, 'trap.sh')
    const sprung = join(folder, 'sprung')
    writeFileSync(trap, `#!/bin/sh\ntouch ${sprung}\ncat\n`)
    chmodSync(trap, 0o755)
    for (const key of [
      'core.fsmonitor',
      'core.pager',
      'gpg.program',
      'diff.external',
      'core.editor',
      'core.sshCommand',
    ]) {
      gitIn(folder, 'config', key, trap)
    }
    gitIn(folder, 'config', 'commit.gpgSign', 'true')
    gitIn(folder, 'config', 'log.showSignature', 'true')
    for (const hook of [
      'pre-commit',
      'commit-msg',
      'post-commit',
      'prepare-commit-msg',
      'reference-transaction',
      'post-index-change',
    ]) {
      mkdirSync(join(folder, '.git/hooks'), { recursive: true })
      writeFileSync(join(folder, '.git/hooks', hook), `#!/bin/sh\ntouch ${sprung}\n`, { mode: 0o755 })
    }
    const repository = await opened(folder)
    gitIn(folder, 'config', 'filter.trap.clean', trap)
    gitIn(folder, 'config', 'filter.trap.smudge', trap)
    writeFiles(folder, { 'prompts/a.md': 'b', '.gitattributes': '* filter=trap\n' })
    await repository.head()
    await repository.history('prompts/a.md')
    await readSiteAt(folder, 'HEAD')
    await repository.commit({ paths: ['prompts/a.md'], message: 'm', authorName: 'J', authorEmail: 'j@e.c' })
    assert.equal(text(await repository.contentAt('prompts/a.md', 'HEAD')), 'b')
    assert.equal(existsSync(sprung), false)
    // The traps do work.
    assert.throws(() => gitIn(folder, 'commit', '--allow-empty', '--message=x'))
    assert.equal(existsSync(sprung), true)
  })

  it('may be a subfolder of the repository', async (t) => {
    const top = repositoryFolder(t, {
      'deploy/site/prompts/a.md': 'a',
      'config/other.yaml': 'o: 1\n',
      'README.md': 'r',
    })
    const site = join(top, 'deploy/site')
    gitIn(top, 'mv', 'README.md', 'deploy/site/prompts/r.md')
    commitAll(top, 'move in')
    const repository = await opened(site)
    assert.deepEqual(
      (await repository.history('prompts/a.md')).map(({ path }) => path),
      ['prompts/a.md'],
    )
    assert.deepEqual(
      (await repository.history('prompts/r.md')).map(({ path }) => path),
      ['prompts/r.md', '/README.md'],
    )
    assert.equal(text(await repository.contentAt('prompts/a.md', 'main')), 'a')
    assert.equal(await repository.contentAt('config/other.yaml', 'main'), undefined)
    const files = await readSiteAt(site, 'main')
    assert.deepEqual([...files.documents.keys()], ['prompts/a.md', 'prompts/r.md'])
    assert.equal(repository.lockFile, join(top, '.git/index.lock'))
  })

  it('is unknown without a repository, without commits or without the revision', async (t) => {
    const plain = siteFolder(t, { 'prompts/a.md': 'a' })
    assert.equal(await openRepository(plain), undefined)
    assert.equal(await openRepository(join(plain, 'nowhere')), undefined)
    const hasCode = (code: string) => (error: unknown) => error instanceof AppError && error.code === code
    await assert.rejects(readSiteAt(plain, 'main'), hasCode('unavailable'))
    gitIn(plain, 'init', '--quiet')
    const empty = await opened(plain)
    assert.equal(await empty.head(), undefined)
    assert.deepEqual(await empty.history('prompts/a.md'), [])
    await assert.rejects(readSiteAt(plain, 'main'), hasCode('not_found'))
    const first = await empty.commit({
      paths: ['prompts/a.md'],
      message: 'm',
      authorName: 'J',
      authorEmail: 'j@e.c',
    })
    assert.equal(first, await empty.head())
  })
})

describe('a site at a revision', { skip }, () => {
  it('is what the working tree was then, byte for byte and fault for fault', async (t) => {
    const folder = repositoryFolder(t, {
      'config/settings.yaml': 'version: 2\r\n',
      'config/broken.yaml': 'a: 1\na: 2\n',
      'config/.hidden.yaml': 'h: 1\n',
      'prompts/ü/a b.md': '---\ntitle: A\n---\nHello\n',
      'skills/x/SKILL.md': '---\nname: x\n---\n',
      'skills/x/y.txt': 'y',
      'var/state.yaml': 's: 1\n',
    })
    const there = await readSite(folder)
    const then = await readSiteAt(folder, 'HEAD')
    assert.equal(then.digest, there.digest)
    assert.equal(then.folder, folder)
    assert.deepEqual([...then.documents.keys()], [...there.documents.keys()])
    assert.deepEqual(
      [...then.assets].map(([path, bytes]) => [path, text(bytes)]),
      [['skills/x/y.txt', 'y']],
    )
    assert.deepEqual(then.faults.map(faultText), [
      'config/broken.yaml:2:1 "a" is given twice in the same map',
    ])
    assert.equal(then.faults.length, there.faults.length)
    const first = gitIn(folder, 'rev-parse', 'HEAD')
    writeFiles(folder, { 'config/broken.yaml': 'a: 1\n' })
    assert.equal((await readSiteAt(folder, first)).digest, there.digest)
  })

  it('follows links inside the site and refuses those that lead out, as on disk', async (t) => {
    const folder = repositoryFolder(t, { 'prompts/team/a.md': 'A', 'secret.yaml': 's: 1\n' })
    symlinkSync('team', join(folder, 'prompts/also'))
    symlinkSync('team/a.md', join(folder, 'prompts/b.md'))
    symlinkSync('../secret.yaml', join(folder, 'prompts/out.yaml'))
    symlinkSync('/etc/passwd', join(folder, 'prompts/passwd'))
    symlinkSync('missing', join(folder, 'prompts/nothing'))
    commitAll(folder, 'links')
    const then = await readSiteAt(folder, 'main')
    const there = await readSite(folder)
    assert.deepEqual([...then.documents.keys()], ['prompts/also/a.md', 'prompts/b.md', 'prompts/team/a.md'])
    assert.deepEqual(then.faults.map(faultText).sort(), there.faults.map(faultText).sort())
    assert.equal(then.faults.length, 3)
  })

  it('needs no working tree', async (t) => {
    const folder = repositoryFolder(t, { 'prompts/a.md': 'a' })
    renameSync(join(folder, 'prompts'), join(folder, 'elsewhere'))
    assert.deepEqual([...(await readSiteAt(folder, 'main')).documents.keys()], ['prompts/a.md'])
  })
})
