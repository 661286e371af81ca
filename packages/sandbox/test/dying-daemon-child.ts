/** A daemon with a child in the sandbox; a test kills it. */
import process from 'node:process'
import { probeIsolation } from '#sandbox/isolation/bubblewrap.ts'
import { spawnChild } from '#sandbox/isolation/spawned.ts'

const child = spawnChild({
  isolation: await probeIsolation(),
  view: { show: [], environment: {}, scratchBytes: 1 << 20 },
  program: ['/bin/sh', '-c', 'echo 1 >&3; exec sleep 98765'],
  limits: { fileBytes: 0, openFiles: 64 },
  maxMessageBytes: 100,
  maxOutputBytes: 100,
})
await child.receive()
process.stdout.write('ready\n')
await child.ended
