/** A process that takes the lock of a folder, says how it went, and keeps it until it is told to let go. */
import { once } from 'node:events'
import process from 'node:process'
import { systemClock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import { lockState } from '#state/lock.ts'

const [folder = ''] = process.argv.slice(2)
console.log('ready')
// All children that were told to start try at the same moment.
await once(process.stdin, 'data')
try {
  const lock = await lockState(folder, systemClock)
  console.log(`held ${process.pid}`)
  await once(process.stdin, 'data')
  lock.release()
  console.log('released')
} catch (error) {
  console.log(`refused ${messageOf(error)}`)
}
process.exit(0)
