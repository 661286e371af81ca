/**
 * A thread beside a module's own, which waits for one byte on descriptor 4: the daemon sends it to a module that does not
 * respond. The thread reports the place as pairs of line and column, and ends the process, also when the daemon is gone.
 */
import { readSync, writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import process from 'node:process'
import { workerData } from 'node:worker_threads'

const end = () => process.kill(process.pid, 'SIGKILL')
let asked = 0
try {
  asked = readSync(4, Buffer.alloc(1))
} catch {
  // A failed read means the same as the end of the daemon.
}
if (asked === 0) end()
// An inspector session alone does not keep the thread alive.
setTimeout(end, 2000)
const session = new Session()
session.connectToMainThread()
/** @type {Set<string>} */
const own = new Set()
session.on('Debugger.scriptParsed', ({ params }) => {
  if (params.url === workerData) own.add(params.scriptId)
})
session.on('Debugger.paused', ({ params }) => {
  const places = params.callFrames
    .map(({ location }) => location)
    .filter(({ scriptId }) => own.has(scriptId))
    .map(({ lineNumber, columnNumber = 0 }) => [lineNumber + 1, columnNumber + 1])
  writeSync(4, `${JSON.stringify(places)}\n`)
  end()
})
session.post('Debugger.enable', () => session.post('Debugger.pause'))
