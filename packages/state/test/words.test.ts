import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { epochSeconds, isoTime, systemClock } from '#leaf/clock.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import { createLog } from '#leaf/log.ts'
import { assistantUser, hasRole, roleKeyOf, systemManager } from '../../../src/core/principal.ts'
import { linesOf } from '../../../src/core/settings.ts'
import { mistyped } from '#state/questions/words.ts'

describe('time', () => {
  it('is milliseconds inside, ISO 8601 in UTC for people and whole seconds for protocols', () => {
    assert.equal(isoTime(0), '1970-01-01T00:00:00.000Z')
    assert.equal(epochSeconds(1999), 1)
    assert.ok(Math.abs(systemClock.now() - Date.now()) < 60_000)
  })
})

describe('an error of ours', () => {
  it('carries a code, data and the cause', () => {
    const cause = new Error('why')
    const error = new AppError('conflict', 'changed meanwhile', { data: [1], cause })
    assert.deepEqual(
      [error.name, error.code, error.message, error.data, error.cause],
      ['AppError', 'conflict', 'changed meanwhile', [1], cause],
    )
    assert.equal('cause' in new AppError('invalid', 'x'), false)
  })

  it('and anything else that is thrown have a message', () => {
    assert.deepEqual(
      [messageOf(new TypeError('a')), messageOf('b'), messageOf(undefined)],
      ['a', 'b', 'undefined'],
    )
  })
})

describe('roles', () => {
  it('make the same key in whatever order, and another for another set', () => {
    assert.equal(roleKeyOf(['B', 'A']), roleKeyOf(new Set(['A', 'B'])))
    assert.notEqual(roleKeyOf(['A', 'B']), roleKeyOf(['AB']))
    assert.equal(roleKeyOf([]), '')
  })

  it('are held by whom they were given to, and all by a System Manager', () => {
    const of = (...roles: string[]) => ({ roles: new Set(roles) })
    assert.equal(hasRole(of(assistantUser), assistantUser), true)
    assert.equal(hasRole(of(assistantUser), 'HR User'), false)
    assert.equal(hasRole(of(systemManager), 'HR User'), true)
    assert.equal(hasRole(of(), ''), false)
  })
})

describe('a setting of several lines', () => {
  it('is a list without blanks and repetitions, however it is written', () => {
    assert.deepEqual(linesOf(' a \n\nb\r\na\n'), ['a', 'b'])
    assert.deepEqual(linesOf(['a', ' ', 'b ', 'a']), ['a', 'b'])
    assert.deepEqual(linesOf(''), [])
  })
})

describe('a mistyped word', () => {
  it('has a letter wrong, missing, too many or before its neighbour; two such in a long word', () => {
    const near = (word: string, ...others: string[]) => others.map((one) => mistyped(word)?.matches(one))
    assert.deepEqual(near('invoice', 'invoise', 'invoce', 'invooice', 'invocie'), [true, true, true, true])
    assert.deepEqual(near('invoice', 'invosie', 'inovcie'), [false, false])
    assert.deepEqual(near('quotation', 'qoutatoin', 'qoutatoni'), [true, false])
    assert.deepEqual(near('bolt', 'blot'), [undefined])
  })
})

describe('the log', () => {
  const logged = (level: 'debug' | 'info' | 'error') => {
    const lines: string[] = []
    return { lines, log: createLog(level, { write: (line) => void lines.push(line) }) }
  }

  it('writes one JSON object a line, whatever is in it', () => {
    const { lines, log } = logged('info')
    log.info('two\nlines', { user: 'a\nb\u2028', level: 'x' })
    assert.equal(lines.length, 1)
    assert.equal(lines[0]!.trimEnd().includes('\n'), false)
    const { level, msg, user, time } = JSON.parse(lines[0]!) as Record<string, string>
    assert.deepEqual([msg, user], ['two\nlines', 'a\nb\u2028'])
    assert.ok(level)
    assert.match(time ?? '', /^\d{4}-\d\d-\d\dT/)
  })

  it('never shows secrets, not even in errors and their causes', () => {
    const { lines, log } = logged('debug')
    const error = new Error('refused Bearer abcdefgh12345678', {
      cause: new Error('ac_rt_0123456789abcdefABCD'),
    })
    log.error('failed', { error, request: { headers: { authorization: 'Bearer abcdefgh12345678' } } })
    log.debug('detail', { password: 'hunter2' })
    const text = lines.join('')
    assert.match(text, /refused Bearer \[redacted\]/)
    assert.doesNotMatch(text, /abcdefgh12345678|0123456789abcdef|hunter2/)
  })

  it('says only what its level lets through, and the level can change', () => {
    const { lines, log } = logged('error')
    log.info('quiet')
    log.warn('quiet')
    assert.equal(lines.length, 0)
    log.setLevel('debug')
    log.debug('loud')
    assert.equal(lines.length, 1)
  })
})
