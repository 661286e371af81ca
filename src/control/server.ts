/** The daemon's end of the control socket: a Unix domain socket that only its own user may open (D11). */
import { join } from 'node:path'
import { listenAt } from '#commands/asking.ts'
import { compileSchema } from '#leaf/schema.ts'
import { AppError } from '#leaf/errors.ts'
import type { Services } from '../house/services.ts'
import { operations, type Operations } from './index.ts'
import { controlSocketName, runOperation } from './operation.ts'
// Loaded at the start, as only operations need these: once the daemon runs, its files may be those of another version.
import '#audit/reading.ts'
import '../documents/asking/exporting.ts'
import '../documents/explaining.ts'
import '../documents/importing/import-rows.ts'
import '../documents/importing/import-target.ts'
import '../documents/state-problems.ts'
import '../documents/told-outcomes.ts'
import '../house/ending-access.ts'
import './status.ts'

// What compiles schemas as well: a first look cannot tell this one.
compileSchema({ not: {} })(null)

/** Listens in the state folder. The holder of the state's lock owns the socket. */
export function listenForControl(services: Services): Promise<{ close: () => Promise<void> }> {
  const { folders, metrics, log } = services
  return listenAt(join(folders.state, controlSocketName), {
    run: async (name, params, asking) => {
      if (!Object.hasOwn(operations, name)) throw new AppError('not_found', `no operation "${name}"`)
      return runOperation(operations[name as keyof Operations], params, services, asking)
    },
    // For a collector on this machine that can read a socket: no port needs to be open.
    pages: { '/metrics': async () => ({ type: metrics.contentType, text: await metrics.text() }) },
    failed: (error) => log.error('control operation failed', { error }),
  })
}
