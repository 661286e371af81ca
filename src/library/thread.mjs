/** Begins a thread of ours. From its sources it needs the translator that the main thread has; compiled, it needs nothing. */
import { workerData } from 'node:worker_threads'

if (workerData.endsWith('.ts')) (await import('tsx/esm/api')).register()
await import(workerData)
