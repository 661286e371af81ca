/** The thread in which a daemon has itself examined. */
import { parentPort } from 'node:worker_threads'
import type { Patient } from './patient.ts'
import { examine } from './machine.ts'

parentPort!.once('message', (patient: Patient) => {
  void examine(patient).then((findings) => parentPort!.postMessage(findings, []))
})
