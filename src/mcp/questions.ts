/** Requests of ours to legacy clients that wait for their answers, each known by an unguessable id and its peer. */
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { randomId } from '../core/secrets.ts'
import type { ClientQuestion } from '../tools/tool.ts'
import { type Call, isObject, peerOf } from './protocol.ts'

/** Long enough for a person to read and decide. */
const patienceMs = 300_000
const maxPerPeer = 20

interface Waiting {
  readonly peer: string
  settle(result: unknown, error: unknown): void
}

/** The questions that are open just now. */
export class Questions {
  readonly #waiting = new Map<string, Waiting>()

  /** Sends a question on the call's stream and waits for the answer. AppError `unavailable` when none comes. */
  put(call: Call, question: ClientQuestion): Promise<unknown> {
    const peer = peerOf(call.principal)
    const open = [...this.#waiting.values()].filter((waiting) => waiting.peer === peer).length
    if (open >= maxPerPeer) throw new AppError('unavailable', 'too many questions wait for this client')

    const id = randomId()
    return new Promise((resolve, reject) => {
      const giveUp = (why: string) => (): void => done(() => reject(new AppError('unavailable', why)))
      const aborted = giveUp('the call ended before the client answered')
      const timer = setTimeout(giveUp('the client did not answer in time'), patienceMs).unref()
      const done = (then: () => void): void => {
        clearTimeout(timer)
        call.signal.removeEventListener('abort', aborted)
        this.#waiting.delete(id)
        then()
      }
      call.signal.addEventListener('abort', aborted)
      this.#waiting.set(id, {
        peer,
        settle: (result, error) =>
          isObject(result)
            ? done(() => resolve(result))
            : done(() => reject(new AppError('unavailable', `the client refused: ${reasonOf(error)}`))),
      })
      call.channel.send({ jsonrpc: '2.0', id, method: question.method, params: question.params ?? {} })
    })
  }

  /** Takes an answer; one to a question of another peer, or to none, is dropped. */
  answer(principal: Principal, id: unknown, result: unknown, error: unknown): void {
    const waiting = typeof id === 'string' ? this.#waiting.get(id) : undefined
    if (waiting?.peer === peerOf(principal)) waiting.settle(result, error)
  }
}

function reasonOf(error: unknown): string {
  return isObject(error) && typeof error['message'] === 'string' ? error['message'] : 'no result'
}
