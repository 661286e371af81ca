import { AppError } from '../core/errors.ts'
import { readiness } from '../http/health-endpoint.ts'
import { defineOperation } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** Everything that Prometheus would read, as its text. Kept by a running daemon only. */
export const metrics = defineOperation({
  name: 'metrics',
  input: objectWith({}),
  run: async (_params, { services, daemon }) => {
    if (!daemon) throw new AppError('unavailable', 'no daemon runs on this state; only a daemon has metrics')
    return { text: await services.metrics.text() }
  },
})

/** What `/readyz` answers, and what this machine can compute. Known by a running daemon only. */
export const daemonHealth = defineOperation({
  name: 'daemon.health',
  input: objectWith({}),
  run: async (_params, { services, daemon }) => {
    if (!daemon) throw new AppError('unavailable', 'no daemon runs on this state')
    return {
      now: services.clock.now(),
      public_url: services.publicUrl(),
      checks: await readiness(services),
      probes: services.analysis?.probes ?? [],
    }
  },
})
