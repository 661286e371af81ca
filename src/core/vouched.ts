/** Work that goes on after its caller was answered. All who share the state know of it; one daemon runs it and vouches for it. */
import type { Clock } from '#leaf/clock.ts'
import type { Collection, Stored } from '#state/store.ts'

/** The stored record of such work. */
export interface Vouched extends Stored {
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  /** The time until which the daemon that runs the work vouches for it. */
  readonly vouchedUntil: number
  readonly updatedAt: number
}

/** Milliseconds. */
const vouchFor = 30_000
const beat = 5000

/** True while the work has not ended. */
export function isUnderWay({ status }: Vouched): boolean {
  return status === 'working' || status === 'input_required'
}

/** True when the work seems to go on but nobody vouches for it any more: its daemon is gone. */
export function isLost(work: Vouched, clock: Clock): boolean {
  return isUnderWay(work) && work.vouchedUntil <= clock.now()
}

/** Returns the fields with which a daemon begins to vouch. */
export function vouchedFrom(clock: Clock): Pick<Vouched, 'status' | 'vouchedUntil' | 'updatedAt'> {
  const now = clock.now()
  return { status: 'working', vouchedUntil: now + vouchFor, updatedAt: now }
}

/** Changes work that has not ended; ended work stays as it is. */
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

/** Vouches for work at intervals until it is over; `said` returns changes to store with it. */
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
