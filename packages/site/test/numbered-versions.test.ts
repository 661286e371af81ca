import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { NumberedVersions, openRepository } from '#site/git.ts'
import { gitIn, siteFolder, withoutGit } from './site-folder.ts'

/** A file holds the thing of its first line; another second line is another version, the rest is not. */
function heldIn(_file: string, bytes: Uint8Array) {
  const [id = '', fingerprint = ''] = Buffer.from(bytes).toString().split('\n')
  return id === '' ? null : { id, fingerprint }
}

describe('versions of what files hold', { skip: withoutGit() }, () => {
  it('are numbered by the commits that made them, on any machine the same, also after a move', async (t) => {
    const folder = siteFolder(t, { 'things/a.txt': 'one\nred\n' })
    const commit = (message: string): string => {
      gitIn(folder, 'add', '--all')
      gitIn(folder, 'commit', '--quiet', '--message', message)
      return gitIn(folder, 'rev-parse', 'HEAD')
    }
    const write = (name: string, text: string): void => writeFileSync(join(folder, 'things', name), text)
    gitIn(folder, 'init', '--quiet', '--initial-branch=main')
    const first = commit('red')
    write('a.txt', 'one\nred\nand a remark\n')
    commit('a remark')
    renameSync(join(folder, 'things/a.txt'), join(folder, 'things/b.txt'))
    write('b.txt', 'one\nblue\n')
    const blue = commit('blue, and moved')
    write('c.txt', '')
    commit('nothing')
    const repository = (await openRepository(folder))!
    const thing = (text: string) => {
      const bytes = Buffer.from(text)
      return { ...heldIn('', bytes)!, file: 'things/b.txt', bytes }
    }
    const numbered = new NumberedVersions('things', heldIn)
    for (const numbering of [numbered, numbered, new NumberedVersions('things', heldIn)]) {
      const one = (await numbering.of(repository, 'HEAD', [thing('one\nblue\n')])).get('one')!
      assert.deepEqual([one.number, one.commit], [2, blue])
      assert.deepEqual(
        one.versions.map(({ number, path }) => [number, path]),
        [
          [1, 'things/a.txt'],
          [2, 'things/b.txt'],
        ],
      )
      assert.equal(one.versions[0]!.commit, first)
      assert.deepEqual(
        one.changes.map(({ number }) => number),
        [1, 1, 2],
      )
    }
    const remarked = (await numbered.of(repository, 'HEAD', [thing('one\nblue\nsoon\n')])).get('one')!
    assert.deepEqual([remarked.number, remarked.commit], [2, undefined], 'the same version, not committed')
    const open = (await numbered.of(repository, 'HEAD', [thing('one\ngreen\n')])).get('one')!
    assert.deepEqual([open.number, open.commit, open.versions.length], [null, undefined, 2])
    const other = (await numbered.of(repository, 'HEAD', [thing('two\nred\n')])).get('two')!
    assert.deepEqual(other, { versions: [], changes: [], number: null })
  })
})
