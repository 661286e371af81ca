import { isoTime } from '../core/clock.ts'
import type { KeyStatus } from '../oauth/keys.ts'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** The keys that sign ID tokens, without their private parts. */
export const listKeys = defineOperation({
  name: 'keys.list',
  input: objectWith({}),
  run: async (_params, { keys }: Needs<'keys'>) => (await keys.list()).map(keyView),
})

/** Makes the next signing key; `at_once` when the old one leaked. */
export const rotateKeys = defineOperation({
  name: 'keys.rotate',
  writes: true,
  input: objectWith({}, { at_once: { type: 'boolean' } }),
  run: async (params, { keys }: Needs<'keys'>) =>
    keyView(await keys.rotate({ atOnce: params.at_once ?? false })),
})

function keyView({ id, state, createdAt, signsFrom }: KeyStatus) {
  return { key: id, state, created: isoTime(createdAt), signs_from: isoTime(signsFrom) }
}

/** The last authorization attempts, and the step at which each died. Kept by running daemons only. */
export const traceAttempts = defineOperation({
  name: 'oauth.trace',
  input: objectWith({}, { count: { type: 'integer', minimum: 1 } }),
  run: async (params, { trace }: Needs<'trace'>) => trace.last(params.count ?? 10),
})
