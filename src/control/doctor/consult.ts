import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { objectWith } from '../../core/object-schema.ts'
import { daemonHealth } from '../metrics.ts'
import { defineOperation, type Needs } from '../operation.ts'
import type { Case } from './consult-thread.ts'
import type { Finding } from './finding.ts'

let running: Promise<readonly Finding[]> | undefined

/** What `doctor` says of this machine. Asked of a running daemon; the command line examines by itself. */
export const consultDoctor = defineOperation({
  name: 'doctor.examine',
  input: objectWith({}),
  run: async (params, taken: Needs<'folders'> & Parameters<typeof daemonHealth.run>[1]) => {
    const health = await daemonHealth.run(params, taken)
    const { folders, publicUrl } = taken
    // Who asks while somebody is being answered gets the same answer.
    running ??= examineAside({ ...folders, publicUrl: publicUrl(), health }).finally(
      () => (running = undefined),
    )
    return running
  },
})

/** In a thread: reading a whole site and state takes long, and requests must not wait for it. */
async function examineAside(found: Case): Promise<readonly Finding[]> {
  const program = new URL(`./consult-thread${extname(import.meta.url)}`, import.meta.url)
  const thread = new Worker(new URL('../../library/thread.mjs', import.meta.url), {
    workerData: program.href,
    execArgv: [],
  })
  try {
    thread.postMessage(found, [])
    const [findings] = (await once(thread, 'message')) as [readonly Finding[]]
    return findings
  } finally {
    await thread.terminate()
  }
}
