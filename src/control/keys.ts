import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { KeyStatus } from '../oauth/tokens/keys.ts'
import { asks, takes } from '#commands/description.ts'
import { defineOperation } from './operation.ts'
import { columns, table } from '#commands/terminal.ts'

/** The operations on the keys that sign ID tokens, without their private parts, and on the attempts to get tokens. */
export const keyOperations = [
  defineOperation({
    name: 'keys.list',
    does: 'list the signing keys',
    input: takes({}),
    needs: ['keys'],
    run: async (_params, { keys }) => (await keys.list()).map(keyView),
    text: columns('key, state, created, signs from: signs_from'),
  }),
  defineOperation({
    name: 'keys.rotate',
    does: 'make the next signing key; it signs once clients have had time to learn it',
    examples: ['keys rotate', 'keys rotate --at-once'],
    writes: true,
    input: takes({
      at_once: '--at-once: it signs now and the old ones end, because one of them leaked',
    }),
    needs: ['keys'],
    run: async ({ at_once = false }, { keys }) => keyView(await keys.rotate({ atOnce: at_once })),
  }),
  defineOperation({
    // Only running daemons keep it.
    name: 'oauth.trace',
    does: 'show the last authorization attempts and the step at which each died',
    examples: ['oauth trace -n 5'],
    input: takes({ count: asks('-n <count>: how many', { minimum: 1, default: 10 }) }),
    needs: ['trace', 'daemon'],
    run: async ({ count = 10 }, { trace, daemon }) => {
      if (!daemon)
        throw new AppError('unavailable', 'no daemon runs on this state; only a daemon has the trace')
      return trace.last(count)
    },
    text: (list) =>
      table(list, [
        ['attempt', (one) => one.started],
        ['client', (one) => one.client_name ?? one.client],
        ...columns('redirect: redirect_host, user'),
        // The step at which it died, or the latest one if it still goes on.
        ['last step', (one) => one.died_at ?? one.steps.at(-1)],
        ['reason', (one) => one.reason ?? one.client_document],
      ]),
  }),
] as const

function keyView({ id, state, createdAt, signsFrom }: KeyStatus) {
  return { key: id, state, created: isoTime(createdAt), signs_from: isoTime(signsFrom) }
}
