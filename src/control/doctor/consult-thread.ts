/** The thread in which a daemon has itself examined. */
import process from 'node:process'
import { parentPort } from 'node:worker_threads'
import { systemClock } from '../../core/clock.ts'
import { createLog } from '../../core/log.ts'
import { examine } from './machine.ts'
import type { Patient } from './patient.ts'

/** What the thread is told to look at. */
export type Case = Pick<Patient, 'site' | 'state' | 'publicUrl' | 'health'>

parentPort!.once('message', (found: Case) => {
  const log = createLog('silent', process.stderr)
  void examine({ ...found, clock: systemClock, log }).then((findings) =>
    parentPort!.postMessage(findings, []),
  )
})
