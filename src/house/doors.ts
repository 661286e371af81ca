import { HeldConnections, Places, WaitingLine } from '#front/front.ts'
import { WholeAnswers } from '#front/whole-answer.ts'
import { summing } from '#leaf/log.ts'
import type { Finding } from '../control/doctor/finding.ts'
import { systemManager } from '../core/principal.ts'
import { DoctorProbe } from '../http/doctor-probe.ts'
import { trustedProxies } from '../http/requests-middleware.ts'
import { createHostViews } from '../pages/host-views.ts'
import { viewsFor } from '../pages/views.ts'
import { PageStreams } from '#ui/browser.ts'
import type { ClientDoor } from './client-door.ts'
import type { Foundation, Undo } from './foundation.ts'
import type { House } from './house.ts'
import type { McpDoor } from './mcp-door.ts'
import { powersIn } from './powers.ts'
import type { PublicAddress } from './public-address.ts'
import type { SignInDoor } from './sign-in-door.ts'
import type { StreamDoor } from './stream-door.ts'

/** Addresses that nobody has (RFC 2606): only people of a template get a password that is printed. */
const madeUp = /@(example\.(com|net|org)|([a-z0-9-]+\.)*example)$/

const minute = 60_000

/** What stands between the sockets of a daemon and all that it serves. */
export type Doors = Awaited<ReturnType<typeof openDoors>>

type Taken = Foundation &
  House &
  ClientDoor &
  McpDoor &
  Pick<PublicAddress, 'publicUrl'> &
  Pick<SignInDoor, 'passwords'> &
  Pick<StreamDoor, 'subscriptions'>

/** Opens the doors of a house, and connects a daemon's metrics to what is behind them. */
export async function openDoors(taken: Taken, undo: Undo) {
  const { clock, settings, site, people, log, metrics, publicUrl, suspended, subscriptions } = taken
  if (taken.daemon) await connect(taken, undo)
  const render = viewsFor({ settings, doctypes: () => site.current().documents.platform.doctypes })
  const most = (): number => settings().server.max_concurrent_requests
  const places = new Places({ clock, most })
  undo.push(() => places.close())
  const trusted = trustedProxies(settings)
  const sum = summing(log, 'too many connections: some were closed')
  const tell = (closed: { address: string }): void => {
    metrics.connectionClosed()
    sum(closed)
  }
  const pageStreams = new PageStreams()
  const examination: { running?: Promise<readonly Finding[]> } = {}
  return {
    /** Draws pages. */
    render,
    /** The pages that MCP hosts show. */
    views: createHostViews({ render, publicUrl, suspended }),
    powers: powersIn(taken, clock),
    places,
    line: new WaitingLine({ most, isRoomy: () => places.isHalfFree }),
    connections: new HeldConnections({ clock, places: most, trusted, tell }),
    /** The proxies that are trusted. */
    trusted,
    pageStreams,
    answers: new WholeAnswers(),
    probe: new DoctorProbe({ clock }),
    /** The findings of `doctor` about this machine, while it looks. */
    examination,
    /** Makes a password if nobody has one, and returns it; undefined when somebody has. Shown once. */
    firstSignIn: async (): Promise<{ user: string; password: string } | undefined> => {
      const first = [...people().users.values()].find(({ roles }) => roles.has(systemManager))?.id
      if (first === undefined || !madeUp.test(first)) return undefined
      const password = await taken.passwords.makeFirst(first)
      return password === undefined ? undefined : { user: first, password }
    },
    /** Ends the streams that would keep a stopping daemon alive. */
    drain: (): void => {
      subscriptions.close()
      pageStreams.close()
    },
  }
}

async function connect(taken: Taken, undo: Undo): Promise<void> {
  const { store, audit, metrics, analysis, site, clients, subscriptions, limits } = taken
  await clients.places.count()
  hourly(taken, 'pruning clients', () => clients.prune(), undo)
  probeDocuments(taken, undo)
  every(minute, () => metrics.process?.minute(), undo)
  metrics.observe({
    site: () => site.state(),
    store: () => store.stats(),
    audit,
    streams: () => subscriptions.size,
    limits: () => limits.counts(),
    analysis,
    isTool: (name) => site.current().tools.some((tool) => tool.name === name),
  })
}

/** Probes whether client documents can be fetched: now, hourly, and when the settings that this depends on change. */
function probeDocuments(taken: Taken, undo: Undo): void {
  const { settings, onChange, clientDocuments: documents } = taken
  let tried = ''
  const known = (): string => {
    const { client_id_metadata_documents: mode, egress_proxy: proxy } = settings().oauth
    return JSON.stringify([mode, proxy])
  }
  const probe = (): Promise<void> => {
    tried = known()
    return documents.probe()
  }
  hourly(taken, 'probing client documents', probe, undo)
  onChange(() => {
    if (known() !== tried) void probe()
  })
  void probe()
}

/** Runs work hourly. Registrations prune as well; this is for a server at which nobody registers any more. */
function hourly({ log }: Foundation, what: string, work: () => Promise<unknown>, undo: Undo): void {
  const told = (error: unknown): void => log.error(`${what} failed`, { error })
  every(60 * minute, () => void work().catch(told), undo)
}

function every(milliseconds: number, work: () => void, undo: Undo): void {
  const timer = setInterval(work, milliseconds).unref()
  undo.push(() => clearInterval(timer))
}
