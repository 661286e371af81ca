import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Seal } from '#state/postgres/telling/announcement-seal.ts'
import { longestAnnouncement } from '#state/store.ts'

it('an announcement is opened with its key, in its transaction and run of the server alone', () => {
  const [before, after] = [new Seal('key', 1), new Seal('key', 2)]
  const message = before.close('sign_in x right', '725')
  assert.equal(before.open(message)?.text, 'sign_in x right')
  assert.equal(before.open(message)?.transaction, 725n)
  assert.equal(after.open(message), undefined, 'the server was started again')
  assert.equal(after.open(after.close('x', '1', 1)), undefined, 'it was sent at another server')
  assert.equal(new Seal('another key', 1).open(message), undefined)
  const last = message.at(-2) === 'A' ? 'B' : 'A'
  for (const other of [
    message.replace(' 725 ', ' 726 '),
    message.replace(' 725 ', ' 0725 '),
    message.slice(0, -2) + last + message.at(-1)!,
    message.slice(0, -4),
    'sealed 725 AAAA',
    'sealed 1 ',
    'sign_in x right',
    '',
  ])
    assert.equal(before.open(other), undefined, other)
  assert.equal(before.open(before.close('', '9'))?.text, '')
})

it('two announcements of the same words do not look alike, and the longest fits', () => {
  const seal = new Seal('key', 1)
  assert.notEqual(seal.close('x', '1'), seal.close('x', '1'))
  const most = seal.close('ü'.repeat(longestAnnouncement / 2), String(2n ** 64n - 1n))
  assert.ok(Buffer.byteLength(most) < 8_000)
})
