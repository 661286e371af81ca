/** Builds everything that holds state, once and in order: foundation, house, doors. */
import type { Finding } from '../control/doctor/finding.ts'
import type { Networks } from '#leaf/address.ts'
import { summing } from '#leaf/log.ts'
import { systemManager } from '../core/principal.ts'
import { WholeAnswers } from '#front/whole-answer.ts'
import { HeldConnections, Leaving, WaitingLine, Places } from '#front/front.ts'
import { DoctorProbe } from '../http/doctor-probe.ts'
import { trustedProxies } from '../http/requests-middleware.ts'
import { PageStreams } from '../web/page-streams.ts'
import { Daemons } from './daemons.ts'
import { openDoors, type Doors } from './doors.ts'
import { openFoundation, undoAll, type Foundation, type ServicesOptions, type Undo } from './foundation.ts'
import { openHouse, type House } from './house.ts'

/** The services of the daemon and of the offline command line. */
export interface Services extends Foundation, House, Doors {
  readonly places: Places
  readonly line: WaitingLine
  readonly connections: HeldConnections
  /** The proxies that are trusted. */
  readonly trusted: () => Networks
  readonly leaving: Leaving
  readonly pageStreams: PageStreams
  readonly answers: WholeAnswers
  readonly probe: DoctorProbe
  /** The findings of `doctor` about this machine, while it looks. */
  readonly examination: { running?: Promise<readonly Finding[]> }
  readonly daemons: Daemons
  /** Makes a password if nobody has one, and returns it; undefined when somebody has. Shown once. */
  firstSignIn(): Promise<{ user: string; password: string } | undefined>
  /** Ends the streams that would keep a stopping daemon alive. */
  drain(): void
  /** Closes everything, once however often it is called, and also when a part of it fails. */
  close(): Promise<void>
}

/** Addresses that nobody has (RFC 2606): only people of a template get a password that is printed. */
const madeUp = /@(example\.(com|net|org)|([a-z0-9-]+\.)*example)$/

/** Opens state and site. AppError `conflict` when another process has the state, `invalid` with `data.faults` for a bad site. */
export async function openServices(options: ServicesOptions): Promise<Services> {
  const undo: Undo = []
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= undoAll(undo))
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
    const pageStreams = new PageStreams()
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
      pageStreams,
      answers: new WholeAnswers(),
      probe: new DoctorProbe({ clock }),
      examination: {},
      daemons,
      firstSignIn: async () => {
        const first = [...house.people().users.values()].find(({ roles }) => roles.has(systemManager))?.id
        if (first === undefined || !madeUp.test(first)) return undefined
        const password = await doors.passwords.makeFirst(first)
        return password === undefined ? undefined : { user: first, password }
      },
      drain: () => {
        doors.subscriptions.close()
        pageStreams.close()
      },
      close,
    }
  } catch (error) {
    // The reason why opening failed says more than an error while closing.
    await close().catch(() => {})
    throw error
  }
}
