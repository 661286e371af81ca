/** Runs operations: in the daemon if one runs, else in this process, on the site and the locked state (D11). */
import { join } from 'node:path'
import process from 'node:process'
import { askerOf } from '#commands/asking.ts'
import { operations, type Operations } from '../control/index.ts'
import { controlSocketName, runOperation, type Operation } from '../control/operation.ts'
import type { Options } from './options.ts'

export const {
  stream,
  operate,
  askRunning: askDaemon,
  converse,
} = askerOf<Operations, Options>({
  socket: ({ state }) => join(state, controlSocketName),
  open: async (options, first) => {
    // A mistyped folder would be made, and be backed up, listed and found whole.
    if (/^(store\.backup|audit\..*|(clients|tokens)\.list)$/.test(first))
      await (await import('../house/offline-state.ts')).requireState(options)
    // Loaded only when no daemon runs: a command that talks to one should start at once.
    const { Opening } = await import('../house/services.ts')
    const { createLog } = await import('#leaf/log.ts')
    const opening = new Opening({
      ...options,
      log: createLog('error', process.stderr),
      // Opening everything logs much that belongs in a daemon's log, not on a terminal.
      logLevel: 'error',
      acceptsOlder: first === 'audit.accept_loss',
    })
    return {
      run: async (name, params, asking) => {
        const operation: Operation = operations[name as keyof Operations]
        return runOperation(operation, params, await opening.take([...operation.needs, 'audit']), asking)
      },
      close: () => opening.close(),
    }
  },
})
