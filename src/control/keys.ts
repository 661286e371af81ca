import { isoTime } from '../core/clock.ts'
import { defineOperation } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** The keys that sign ID tokens, without their private parts. */
export const listKeys = defineOperation({
  name: 'keys.list',
  input: objectWith({}),
  run: async (_params, { services }) =>
    (await services.keys.list()).map((key) => ({
      key: key.id,
      state: key.state,
      created: isoTime(key.createdAt),
      signs_from: isoTime(key.signsFrom),
    })),
})

/** Makes the next signing key; `at_once` when the old one leaked. */
export const rotateKeys = defineOperation({
  name: 'keys.rotate',
  writes: true,
  input: objectWith({}, { at_once: { type: 'boolean' } }),
  run: async (params, { services }) => {
    const key = await services.keys.rotate({ atOnce: params.at_once ?? false })
    return {
      key: key.id,
      state: key.state,
      created: isoTime(key.createdAt),
      signs_from: isoTime(key.signsFrom),
    }
  },
})

/** The last authorization attempts, and the step at which each died. Kept by running daemons only. */
export const traceAttempts = defineOperation({
  name: 'oauth.trace',
  input: objectWith({}, { count: { type: 'integer', minimum: 1 } }),
  run: async (params, { services }) => services.trace.last(params.count ?? 10),
})
