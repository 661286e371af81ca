import { AppError } from '../core/errors.ts'
import { readiness, type Vitals } from '../http/health-endpoint.ts'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** Everything that Prometheus would read, as its text. Kept by a running daemon only. */
export const metrics = defineOperation({
  name: 'metrics',
  input: objectWith({}),
  run: async (_params, { metrics, daemon }: Needs<'metrics' | 'daemon'>) => {
    if (!daemon) throw new AppError('unavailable', 'no daemon runs on this state; only a daemon has metrics')
    return { text: await metrics.text() }
  },
})

/** What `/readyz` answers, and what this machine can compute. Known by a running daemon only. */
export const daemonHealth = defineOperation({
  name: 'daemon.health',
  input: objectWith({}),
  run: async (_params, taken: Needs<'daemon' | 'clock' | 'publicUrl' | keyof Vitals>) => {
    if (!taken.daemon) throw new AppError('unavailable', 'no daemon runs on this state')
    return {
      now: taken.clock.now(),
      public_url: taken.publicUrl(),
      checks: await readiness(taken),
      probes: taken.analysis?.probes ?? [],
    }
  },
})
