import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { daemonHealth } from '../daemon.ts'
import { takes } from '#commands/description.ts'
import { defineOperation } from '../operation.ts'
import type { Finding } from './finding.ts'
import type { Patient } from './patient.ts'

/** Runs `doctor` on this machine. A running daemon is asked; without one the command line examines by itself. */
export const consultDoctor = defineOperation({
  name: 'doctor.examine',
  input: takes({}),
  needs: [...daemonHealth.needs, 'folders', 'examination'],
  run: async (params, taken, asking) => {
    const health = await daemonHealth.run(params, taken, asking)
    const { folders, publicUrl, examination } = taken
    // Callers during an examination share its result.
    examination.running ??= examineAside({ ...folders, publicUrl: publicUrl(), health }).finally(
      () => delete examination.running,
    )
    return examination.running
  },
})

/** Examines in a thread: reading a whole site and state takes long, and requests must not wait for it. */
async function examineAside(patient: Patient): Promise<readonly Finding[]> {
  const program = new URL(`./consult-thread${extname(import.meta.url)}`, import.meta.url)
  const thread = new Worker(new URL('../../library/prompts/thread.mjs', import.meta.url), {
    workerData: program.href,
    execArgv: [],
  })
  try {
    thread.postMessage(patient, [])
    const [findings] = (await once(thread, 'message')) as [readonly Finding[]]
    return findings
  } finally {
    await thread.terminate()
  }
}
