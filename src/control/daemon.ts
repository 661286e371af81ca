import { PassThrough } from 'node:stream'
import { AppError } from '#leaf/errors.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { readiness } from '../http/health-endpoint.ts'
import { faultText } from '#site/site-files.ts'
import { takes } from '#commands/description.ts'
import { defineOperation } from './operation.ts'

/** The services on which readiness depends. */
export const vitalServices = [
  ...(['site', 'store', 'audit', 'analysis', 'clientDocuments', 'leaving', 'clients'] as const),
  ...(['ownTools', 'pulling'] as const),
]

/** The answer of `/readyz`, and the abilities of this machine. Only a running daemon knows it. */
export const daemonHealth = defineOperation({
  name: 'daemon.health',
  input: takes({}),
  needs: [...vitalServices, 'daemon', 'clock', 'publicUrl', 'metrics'],
  run: async (_params, taken) => {
    if (!taken.daemon) throw new AppError('unavailable', 'no daemon runs on this state')
    const { unknownChanges } = await import('../documents/writing/intentions.ts')
    const { toldChanges } = await import('../documents/told-outcomes.ts')
    const [unknown, told] = await Promise.all([unknownChanges(taken), toldChanges(taken)]).catch(
      (error: unknown) => {
        // Of a state that cannot be read the checks tell.
        if (error instanceof AppError && error.code === 'unavailable') return [[], []]
        throw error
      },
    )
    return {
      now: taken.clock.now(),
      public_url: taken.publicUrl(),
      busy: taken.metrics.process?.busy ?? 0,
      checks: await readiness(taken),
      own_tools: [...taken.ownTools.troubles.map(({ fault }) => faultText(fault)), ...unknown],
      told_changes: told,
      row_security: taken.ownTools.remarks.filter(({ ofListing }) => !ofListing).map(faultText),
      probes: taken.analysis?.probes ?? [],
    }
  },
})

/** The operations on a running daemon, and the backup of the state at one moment. */
export const daemonOperations = [
  daemonHealth,
  defineOperation({
    name: 'metrics',
    does: 'print the metrics of the running daemon as Prometheus reads them',
    input: takes({}),
    needs: ['metrics', 'daemon'],
    run: async (_params, { metrics, daemon }) => {
      if (!daemon)
        throw new AppError('unavailable', 'no daemon runs on this state; only a daemon has metrics')
      return { text: await metrics.text() }
    },
    // Prometheus reads the text as it is; every result gets a line end.
    text: ({ text }) => text.trimEnd(),
  }),
  defineOperation({
    // Returns a nonce with which `doctor` may send one request through the public address.
    name: 'doctor.expect',
    input: takes({}),
    needs: ['probe'],
    run: (_params, { probe }) => Promise.resolve({ nonce: probe.expect() }),
  }),
  defineOperation({
    // Tells how that request arrived; null when it did not.
    name: 'doctor.arrival',
    input: objectWith({ nonce: { type: 'string' } }),
    needs: ['probe'],
    run: ({ nonce }, { probe }) => Promise.resolve({ arrival: probe.arrival(nonce) ?? null }),
  }),
  defineOperation({
    // Streams the text of a backup. The caller writes the file, with its own rights.
    name: 'store.backup',
    writes: true,
    input: takes({}),
    needs: ['store', 'audit'],
    run: async (_params, { store, audit }, { signal }) => {
      // After this the backup holds no event that the log lacks.
      await audit.settled()
      const stream = new PassThrough({ encoding: 'utf8' })
      const stop = (): void => void stream.destroy(new Error('nobody reads the backup any more'))
      signal.addEventListener('abort', stop, { once: true })
      store.streamTo(stream).catch((error: Error) => stream.destroy(error))
      return stream
    },
  }),
] as const
