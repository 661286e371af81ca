/** A proxy in front of a database: it makes round trips take as long as it is told, counts them, and keeps answers back. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface SlowProxy {
  readonly port: number
  /** The number of times that something was sent after an answer. */
  turns(): number
  /** Keeps all answers back until the returned function is called. */
  hold(): () => void
  /** What was sent since answers are kept back. */
  sent(): string
  close(): void
}

/**
 * Starts it in front of a port of this machine; a round trip takes `delay` milliseconds longer, and of a text that is sent
 * another of the same length arrives.
 */
export async function startSlowProxy(
  port: number,
  delay = 0,
  changed?: readonly [text: string, another: string],
): Promise<SlowProxy> {
  let turns = 0
  let held: (() => void)[] | undefined
  let sent = ''
  const sockets = new Set<Socket>()
  const proxy = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    let isAnswered = true
    const pass = (from: Socket, to: Socket, note: (data: Buffer) => void): void => {
      sockets.add(from)
      from.setNoDelay(true)
      from.on('data', (data) => {
        note(data)
        const isChanged = changed !== undefined && from === near && data.includes(changed[0])
        const sent = isChanged ? data.toString('latin1').replaceAll(...changed) : data
        const write = (): void => void to.write(sent, 'latin1')
        setTimeout(() => (from === far && held ? held.push(write) : write()), delay / 2)
      })
      from.on('error', () => to.destroy())
      from.on('close', () => setTimeout(() => to.destroy(), delay))
    }
    pass(near, far, (data) => {
      if (isAnswered) turns++
      isAnswered = false
      if (held) sent += data.toString('latin1')
    })
    pass(far, near, () => (isAnswered = true))
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    port: (proxy.address() as AddressInfo).port,
    turns: () => turns,
    hold: () => {
      held = []
      sent = ''
      return () => {
        const waiting = held ?? []
        held = undefined
        for (const write of waiting) write()
      }
    },
    sent: () => sent,
    close: () => {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
