/** Calls as a table: who calls what, whether it is allowed, what must (not) be said, and that a refusal changes nothing. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AuditStatus } from '#audit/audit.ts'
import type { Principal } from '../../src/core/principal.ts'
import { collectionFor } from '../../src/documents/documents.ts'
import { type Office, openOffice } from './offices.ts'

export interface Scenario {
  readonly name: string
  readonly as: Principal
  /** Done before, as whoever may. */
  readonly given?: (office: Office) => Promise<unknown>
  readonly args: unknown
  /** Allowed: what the answer must hold. */
  readonly says?: RegExp
  /** Refused: with this text. */
  readonly refused?: RegExp
  readonly notSays?: RegExp
  /** What the tool call's own event says; `error` unless told otherwise. */
  readonly audited?: AuditStatus
  /** For allowed writers: the further events of the call. */
  readonly events?: readonly string[]
}

/** Runs the table of one tool; each line on a company of its own. */
export function scenarios(tool: string, table: readonly Scenario[]): void {
  assert.ok(
    table.some((line) => line.refused),
    `${tool} has no refusal`,
  )
  for (const line of table)
    it(`${tool}: ${line.name}`, async (t) => {
      const office = await openOffice(t, { toolsYaml: '{}' })
      await line.given?.(office)
      office.events.length = 0
      const before = await stateOf(office)
      const outcome = await office.call(line.as, tool, line.args)
      const after = await stateOf(office)
      if (line.notSays) assert.doesNotMatch(outcome.text, line.notSays)
      const own = office.events.filter((event) => event.type === 'tool.call')
      if (line.refused) {
        assert.ok(outcome.isError, outcome.text)
        assert.match(outcome.text, line.refused)
        assert.equal(after, before, 'a refusal changes nothing')
        assert.deepEqual(
          own.map((event) => [event.status, event.target, event.user]),
          [[line.audited ?? 'error', tool, line.as.user]],
        )
        assert.deepEqual(
          office.events.filter((event) => event.type !== 'tool.call'),
          [],
        )
      } else {
        assert.ok(!outcome.isError, outcome.text)
        if (line.says) assert.match(outcome.text, line.says)
        assert.deepEqual(
          own.map((event) => event.status),
          ['ok'],
        )
        const others = office.events.filter((event) => event.type !== 'tool.call').map((event) => event.type)
        assert.deepEqual(others, line.events ?? [])
        assert.equal(after === before, others.length === 0, 'writes exactly when it says so')
      }
    })
}

/** Everything that is stored, as one text. */
export async function stateOf({ documents }: Office): Promise<string> {
  const all: unknown[] = []
  for (const doctype of documents.platform.doctypes.values())
    if (!doctype.child) all.push(await collectionFor(documents, doctype).find())
  const kept = { name: 'platform.series', contended: true }
  all.push(await documents.store.collection(kept).find())
  all.push(await documents.store.collection({ name: 'platform.comment', indexes: ['key'] as never }).find())
  all.push(
    await documents.store
      .collection({ name: 'platform.assignment', indexes: ['key', 'user'] as never })
      .find(),
  )
  all.push(
    await documents.store.collection({ name: 'platform.attachment', indexes: ['key'] as never }).find(),
  )
  all.push(await documents.store.collection({ name: 'platform.history', indexes: ['key'] as never }).find())
  return JSON.stringify(all)
}
