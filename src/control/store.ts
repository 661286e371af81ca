import { PassThrough } from 'node:stream'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** The state of one moment as the text of a backup, piece by piece. Whoever asked writes the file, with its own rights. */
export const backup = defineOperation({
  name: 'store.backup',
  writes: true,
  input: objectWith({}),
  run: async (_params, { store, audit, signal }: Needs<'store' | 'audit' | 'signal'>) => {
    // The backup then holds no event that the log has not.
    await audit.settled()
    const stream = new PassThrough({ encoding: 'utf8' })
    const stop = (): void => void stream.destroy(new Error('nobody reads the backup any more'))
    signal.addEventListener('abort', stop, { once: true })
    store.streamTo(stream).catch((error: Error) => stream.destroy(error))
    return stream
  },
})
