/** Starts one of our threads. From sources it needs the translator that the main thread has; compiled, it needs nothing. */
import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { workerData } from 'node:worker_threads'

// On Linux each thread has its own priority (setpriority(2), proc(5)): the one that answers requests goes first.
try {
  const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  setPriority(thread, Math.min(19, getPriority(thread) + 10))
} catch {
  // Elsewhere, or without permission, the priority stays the same.
}
if (workerData.endsWith('.ts')) (await import('tsx/esm/api')).register()
await import(workerData)
