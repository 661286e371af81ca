/** Builds everything that holds state, once and in order: foundation, house, doors. */
import type { Networks } from '../core/address.ts'
import { summing } from '../core/log.ts'
import { systemManager } from '../core/principal.ts'
import { HeldConnections } from '../http/held-connections.ts'
import { DoctorProbe } from '../http/doctor-probe.ts'
import { Leaving } from '../http/leaving.ts'
import { WaitingLine } from '../http/waiting-line.ts'
import { Places } from '../http/places.ts'
import { trustedProxies } from '../http/requests-middleware.ts'
import { Daemons } from './daemons.ts'
import { openDoors, type Doors } from './doors.ts'
import { openFoundation, type Foundation, type ServicesOptions, type Undo } from './foundation.ts'
import { openHouse, type House } from './house.ts'

/** What the daemon and the offline command line work with. */
export interface Services extends Foundation, House, Doors {
  readonly places: Places
  readonly line: WaitingLine
  readonly connections: HeldConnections
  /** The proxies that are believed. */
  readonly trusted: () => Networks
  readonly leaving: Leaving
  readonly probe: DoctorProbe
  readonly daemons: Daemons
  /** The password that was made because nobody had one; undefined when somebody had. Shown once. */
  firstSignIn(): Promise<{ user: string; password: string } | undefined>
  /** Ends the streams that would keep a stopping daemon alive. */
  drain(): void
  close(): Promise<void>
}

/** Addresses that nobody has (RFC 2606): only people of a template get a password that is printed. */
const madeUp = /@(example\.(com|net|org)|([a-z0-9-]+\.)*example)$/

/** Opens the state and reads the site. AppError `conflict` when another process has the state, `invalid` with `data.faults` for a bad site. */
export async function openServices(options: ServicesOptions): Promise<Services> {
  const undo: Undo = []
  const close = async (): Promise<void> => {
    for (const step of undo.reverse()) await step()
  }
  try {
    const foundation = await openFoundation(options, undo)
    const house = await openHouse(foundation, options, undo)
    const doors = await openDoors(foundation, house, options, undo)
    const { clock } = foundation
    const most = (): number => house.settings().server.max_concurrent_requests
    const places = new Places({ clock, most })
    undo.push(() => places.close())
    const trusted = trustedProxies(house.settings)
    const sum = summing(foundation.log, 'too many connections: some were closed')
    const tell = (closed: { address: string }): void => {
      foundation.metrics.connectionClosed()
      sum(closed)
    }
    const daemons = new Daemons(foundation, () => house.site.state())
    undo.push(() => daemons.close())
    if (options.daemon) {
      await daemons.start()
      house.onChange(() => void daemons.beat())
    }
    return {
      ...foundation,
      ...house,
      ...doors,
      places,
      line: new WaitingLine({ most, isRoomy: () => places.isHalfFree }),
      connections: new HeldConnections({ clock, places: most, trusted, tell }),
      trusted,
      leaving: new Leaving(),
      probe: new DoctorProbe({ clock }),
      daemons,
      firstSignIn: async () => {
        const first = [...house.people().users.values()].find(({ roles }) => roles.has(systemManager))?.id
        if (first === undefined || !madeUp.test(first)) return undefined
        const password = await doors.passwords.makeFirst(first)
        return password === undefined ? undefined : { user: first, password }
      },
      drain: () => doors.subscriptions.close(),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
