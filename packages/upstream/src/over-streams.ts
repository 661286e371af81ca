/** A server as a child process, over its standard streams: one message a line. */
import { spawn } from 'node:child_process'
import { eachLine } from '#leaf/each-line.ts'
import { AppError } from '#leaf/errors.ts'
import { maxBytes, type Message, responseOf, type Texts, type Transport } from './messages.ts'

/** How a server is started. */
export interface ChildServer {
  readonly command: readonly string[]
  readonly env: () => Promise<Texts>
  readonly folder: string
}

/** Starts it; `onEnd` is told when it ends. */
export async function overStreams(
  { command: [command, ...args], env: own, folder }: ChildServer,
  onEnd: (error: Error) => void,
): Promise<Transport> {
  // The daemon's own environment is not passed on: it may hold credentials.
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', ...(await own()) }
  const child = spawn(command!, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting = new Map<number, { resolve: (message: Message) => void; reject: (error: Error) => void }>()
  let ended: AppError | undefined
  const end = (cause?: unknown): void => {
    ended ??=
      cause instanceof AppError
        ? cause
        : new AppError('unavailable', 'the upstream server has ended', { cause })
    for (const { reject } of waiting.values()) reject(ended)
    waiting.clear()
  }
  child.on('error', end)
  child.on('exit', (code, signal) => {
    end(new Error(signal ?? `exit ${code}`))
    onEnd(ended!)
  })
  child.stdin.on('error', end)
  const hear = async (): Promise<void> => {
    for await (const line of eachLine(child.stdout, maxBytes)) {
      const message = responseOf(line)
      if (message) waiting.get(message.id)?.resolve(message)
      if (message) waiting.delete(message.id)
    }
  }
  void hear().catch(end)
  const tell = (message: Message): unknown => child.stdin.write(`${JSON.stringify(message)}\n`)
  const exchange: Transport['exchange'] = async (message, signal) => {
    if (ended) throw ended
    tell(message)
    const { id } = message
    if (id === undefined) return undefined
    return await new Promise((resolve, reject) => {
      const stop = (): void => {
        waiting.delete(id)
        tell({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', stop, { once: true })
      const done = () => signal.removeEventListener('abort', stop)
      waiting.set(id, {
        resolve: (answer) => (done(), resolve(answer)),
        reject: (error) => (done(), reject(error)),
      })
    })
  }
  return {
    exchange,
    close: () => {
      // Killing what never started would be kill(0, SIGTERM): the daemon, and all of its process group.
      if (child.pid !== undefined) child.kill()
    },
  }
}
