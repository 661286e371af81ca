/** Work that goes on after whoever asked for it was answered. It is known to all who share the state; one runs it and vouches for it. */
import type { Clock } from '../core/clock.ts'
import type { Collection, Stored } from './store.ts'

/** What is kept of such work. */
export interface Vouched extends Stored {
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  /** Until then the daemon that runs it vouches for it. */
  readonly vouchedUntil: number
  readonly updatedAt: number
}

/** Milliseconds. */
const vouchFor = 30_000
const beat = 5000

/** Whether it has not ended. */
export function isUnderWay({ status }: Vouched): boolean {
  return status === 'working' || status === 'input_required'
}

/** Whether it seems to go on, while nobody vouches for it any more: its daemon is gone. */
export function isLost(work: Vouched, clock: Clock): boolean {
  return isUnderWay(work) && work.vouchedUntil <= clock.now()
}

/** How a daemon begins to vouch. */
export function vouchedFrom(clock: Clock): Pick<Vouched, 'status' | 'vouchedUntil' | 'updatedAt'> {
  const now = clock.now()
  return { status: 'working', vouchedUntil: now + vouchFor, updatedAt: now }
}

/** Changes work that has not ended; the end is the end. */
export function changeUnderWay<T extends Vouched>(
  all: Collection<T>,
  id: string,
  clock: Clock,
  change: (work: T) => Partial<T> | undefined,
): Promise<T | undefined> {
  return all.update(id, (work) => {
    if (!isUnderWay(work)) return undefined
    const changed = change(work)
    return changed && { ...work, ...changed, updatedAt: clock.now() }
  })
}

/** Vouches for work now and then, until it is over; `said` is what there is to tell of it. */
export class Voucher<T extends Vouched> {
  readonly #vouch: () => Promise<void>
  readonly #timer: NodeJS.Timeout

  constructor(
    all: Collection<T>,
    id: string,
    clock: Clock,
    { said = () => ({}), ended }: { readonly said?: () => Partial<T>; readonly ended: () => void },
  ) {
    this.#vouch = async () => {
      const after = await changeUnderWay(all, id, clock, () => ({
        ...said(),
        vouchedUntil: clock.now() + vouchFor,
      }))
      // Another daemon was told to end it.
      if (after && !isUnderWay(after)) ended()
    }
    this.#timer = setInterval(() => this.now(), beat).unref()
  }

  now(): void {
    void this.#vouch().catch(() => undefined)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
