import assert from 'node:assert/strict'
import { constants, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { AppendFile } from '#state/lines/append-file.ts'

const skip = process.platform === 'linux' ? false : 'how a file is open is told by /proc'

/** Whether the system answers a write to the open file only when it is on disk. */
function isSynced(path: string): boolean {
  const found = readdirSync('/proc/self/fd').find((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path
    } catch {
      // The one by which the folder was read.
      return false
    }
  })
  const [, flags = '0'] = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${found}`, 'utf8')) ?? []
  return (Number.parseInt(flags, 8) & constants.O_DSYNC) === constants.O_DSYNC
}

describe('a file that only grows', { skip }, () => {
  it('answers an append when it is on disk, whether the file is new or was there', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'append-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'log')
    const made = await AppendFile.create(path)
    assert.equal(isSynced(path), true)
    await made.append(Buffer.from('one\ntwo\n'))
    await made.close()
    const again = await AppendFile.open(path, 4)
    assert.equal(isSynced(path), true)
    await again.append(Buffer.from('three\n'))
    await again.close()
    assert.equal(readFileSync(path, 'utf8'), 'one\nthree\n')
    await assert.rejects(AppendFile.create(path), { code: 'EEXIST' })
  })
})
