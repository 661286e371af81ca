/** What a check of the chain finds in lines that were written, left out, changed, signed and handed over: row by row. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ChainCheck } from '#audit/verifying/chain-check.ts'
import { checkpoint, keyOf, newKeyText, publicKeysOf, publicText } from '#audit/checkpoint.ts'
import type { AuditEvent } from '#audit/audit.ts'
import { keyChange } from '#audit/keeping/key-change.ts'
import { firstPrev, lineHash, lineText, type ToldEvent, toldBefore } from '#audit/line.ts'

const [oldText, newText, strangerText] = [newKeyText(), newKeyText(), newKeyText()] as const
const [oldKey, newKey, stranger] = [oldText, newText, strangerText].map(keyOf) as [
  ReturnType<typeof keyOf>,
  ReturnType<typeof keyOf>,
  ReturnType<typeof keyOf>,
]
const [oldPublic, newPublic] = [publicText(oldText), publicText(newText)] as const
const time = '2026-01-02T03:04:05.000Z'

/** Lines as a writer makes them, each upon the one before. */
class Writing {
  readonly lines: string[] = []
  #seq: number
  #prev: string

  constructor(first = 1, prev = firstPrev) {
    this.#seq = first
    this.#prev = prev
  }

  add(told: ToldEvent): this {
    this.lines.push(lineText(told, this.#seq, this.#prev))
    this.#seq++
    this.#prev = lineHash(this.lines.at(-1)!)
    return this
  }

  tell(type = 'tool.call', event: Partial<AuditEvent> = {}): this {
    return this.add(
      toldBefore(`id${this.#seq}`, time, { type, status: 'ok', user: 'ann@example.com', ...event }),
    )
  }

  sign(key = oldKey, closed = false): this {
    return this.add(checkpoint(key, time, { seq: this.#seq, prev: this.#prev }, closed))
  }

  handOver(from = oldKey, to = newKey): this {
    return this.add(keyChange(from, to, time))
  }
}

const begun = (first?: number, prev?: string): Writing => new Writing(first, prev)
const edited = (writing: Writing, at: number, edit: (line: string) => string): string[] =>
  writing.lines.map((line, index) => (index === at ? edit(line) : line))

interface Row {
  readonly says: string
  readonly lines: readonly string[]
  /** The public keys, the present one last. */
  readonly keys?: readonly string[]
  /** Lines that somebody knows. */
  readonly known?: readonly { readonly seq: number; readonly hash: string }[]
  readonly faults?: readonly (string | RegExp)[]
  readonly notes?: readonly (string | RegExp)[]
  readonly signed?: number
}

const whole = begun().tell().tell().sign()
const byEve = (writing: Writing): string[] => edited(writing, 1, (line) => line.replace('ann@', 'eve@'))

const rows: readonly Row[] = [
  { says: 'nothing in a whole log', lines: whole.lines, signed: 3 },
  {
    says: 'which lines no signature covers yet',
    lines: begun().tell().sign().tell().tell().lines,
    signed: 2,
    notes: ['2 lines at the end are not signed yet'],
  },
  {
    says: 'a changed line by the two behind it',
    lines: byEve(begun().tell().tell().tell().sign()),
    faults: ['log:2: this line was changed'],
    signed: 4,
  },
  {
    says: 'that one of two was changed, when nothing behind them tells which',
    lines: byEve(begun().tell().tell().sign()),
    faults: ['log:2: this line or the next was changed'],
    signed: 3,
  },
  {
    says: 'a line that is missing',
    lines: [whole.lines[0]!, whole.lines[2]!],
    faults: ['log:2: line 2 is missing'],
    signed: 3,
  },
  {
    says: 'a line that stands twice',
    lines: [whole.lines[0]!, whole.lines[0]!, ...whole.lines.slice(1)],
    faults: ['log:2: line 2 should stand here, not 1'],
    signed: 3,
  },
  {
    says: 'what is no line',
    lines: ['nonsense'],
    faults: ['log:1: this is not a line of the log'],
    notes: [/1 lines/],
    signed: 0,
  },
  {
    says: 'a first line that does not begin the chain',
    lines: begun(1, lineHash('another log')).tell().sign().lines,
    faults: ['log:1: the first line does not begin the chain'],
    signed: 2,
  },
  {
    says: 'lines that are missing before the first',
    lines: begun(3, lineHash('a line before')).tell().sign().lines,
    faults: ['log:1: lines 1 to 2 are missing'],
    signed: 4,
  },
  {
    says: 'nothing before the first line where a signed line tells that it was removed',
    lines: begun(3, lineHash('a line before'))
      .tell('audit.prune', { data: { through: 2 } })
      .sign().lines,
    notes: [/^log:1: the lines through 2 were removed by housekeeping/],
    signed: 4,
  },
  {
    says: 'a line that is missing behind those that were removed',
    lines: begun(4, lineHash('a line before'))
      .tell('audit.prune', { data: { through: 2 } })
      .sign().lines,
    faults: ['log:1: line 3 is missing'],
    notes: [/^log:1: the lines through 2 were removed by housekeeping/],
    signed: 5,
  },
  {
    says: 'lines that were removed as missing while no signature covers what tells of that',
    lines: begun(3, lineHash('a line before'))
      .sign()
      .tell('audit.prune', { data: { through: 2 } }).lines,
    faults: ['log:1: lines 1 to 2 are missing'],
    notes: ['1 lines at the end are not signed yet'],
    signed: 3,
  },
  {
    says: 'lines cut off the end, which somebody knows',
    lines: whole.lines.slice(0, 2),
    known: [{ seq: 3, hash: lineHash(whole.lines[2]!) }],
    faults: ['log:3: the log ends at line 2, but line 3 had been signed'],
    notes: [/2 lines/],
    signed: 0,
  },
  {
    says: 'a line that is another than somebody knows, though the chain holds',
    lines: whole.lines,
    known: [{ seq: 2, hash: lineHash('another') }],
    faults: ['log:2: this is not the line that was signed'],
    signed: 3,
  },
  {
    says: 'a signature of a key that nobody knows',
    lines: begun().tell().sign(stranger).lines,
    faults: ['log:2: this was signed with another key'],
    notes: [/2 lines/],
    signed: 0,
  },
  {
    says: 'a signature that was made for another line',
    lines: edited(begun().tell().sign(), 1, (line) => line.replace(/"signed":"../, '"signed":"AA')),
    faults: ['log:2: the signature does not hold: lines 1 to 2 are not as they were'],
    notes: [/2 lines/],
    signed: 0,
  },
  {
    says: 'nothing where a key handed over to the next',
    lines: begun().tell().sign().handOver().tell().sign(newKey).lines,
    keys: [oldPublic, newPublic],
    signed: 5,
  },
  {
    says: 'a signature of the old key behind that',
    lines: begun().sign().handOver().tell().sign(oldKey).sign(newKey).lines,
    keys: [oldPublic, newPublic],
    faults: ['log:4: this was signed with another key'],
    signed: 5,
  },
  {
    says: 'that a log was handed to a key which is not here',
    lines: begun().tell().sign().handOver().lines,
    keys: [newPublic, oldPublic],
    faults: [`key.pub.pem: the log was handed to key ${newKey.id}, which is not here`],
    notes: ['1 lines at the end are not signed yet'],
    signed: 2,
  },
  {
    says: 'that a log was signed with a key that is known, and not the present one',
    lines: begun().tell().sign(oldKey).lines,
    keys: [oldPublic, newPublic],
    faults: [`key.pub.pem: the log was handed to key ${oldKey.id}, which is not here`],
    signed: 2,
  },
  {
    says: 'a key that another handed over than the one that signed',
    lines: begun().sign(oldKey).handOver(newKey, stranger).sign(oldKey).lines,
    keys: [newPublic, oldPublic],
    faults: ['log:2: the key that hands over here is not the one that signed'],
    signed: 3,
  },
  {
    says: 'a key for which the old one has not signed',
    lines: edited(begun().sign().handOver(), 1, (line) => line.replace(/"signed":"../, '"signed":"AA')),
    faults: ['log:2: the old key has not signed for the new one'],
    notes: [/1 lines/],
    signed: 1,
  },
  {
    says: 'what was added while nothing ran and never signed',
    lines: begun().tell().sign(oldKey, true).tell().tell().lines,
    faults: ['log:3: this was added while nothing ran, and is not signed'],
    notes: [/2 lines/],
    signed: 2,
  },
  {
    says: 'nothing in what the next run signed',
    lines: begun().tell().sign(oldKey, true).tell().sign().lines,
    signed: 4,
  },
  {
    says: 'losses that the log tells of itself',
    lines: begun()
      .tell()
      .tell('audit.truncated', { data: { expected: 9, found: 1, what: 'a file' } })
      .sign().lines,
    faults: ['log:2: lines were missing here: 9 had been written, 1 were found (a file)'],
    signed: 3,
  },
  {
    says: 'no signatures where there is no key, and says so',
    lines: begun().tell().sign(stranger).lines,
    keys: [],
    notes: ['there is no public key; signatures were not checked', /2 lines/],
    signed: 0,
  },
]

describe('a check of the chain finds', () => {
  for (const { says, lines, keys = [oldPublic], known = [], faults = [], notes = [], signed } of rows)
    it(says, () => {
      const check = new ChainCheck(
        keys.length === 0 ? { id: undefined, all: new Map() } : publicKeysOf(keys),
        known,
      )
      const first = Number(/^\{"seq":(\d+)/.exec(lines[0]!)?.[1] ?? 1)
      check.begin({ name: 'log', first })
      for (const [index, line] of lines.entries())
        check.line(
          { name: 'log' },
          { number: index + 1, bytes: Buffer.from(line), offset: 0, end: 0, complete: true },
          true,
        )
      for (const prune of check.prunes) check.removed(prune)
      const found = check.end('log:1', 1, 'elsewhere')
      const same = (told: readonly string[], expected: readonly (string | RegExp)[]): void => {
        assert.equal(told.length, expected.length, told.join('\n'))
        for (const [index, one] of expected.entries())
          if (typeof one === 'string') assert.equal(told[index], one)
          else assert.match(told[index]!, one)
      }
      same(found.faults, faults)
      same(found.notes, notes)
      assert.deepEqual([found.ok, found.signed], [faults.length === 0, signed])
    })
})
