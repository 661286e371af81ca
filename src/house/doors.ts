import type { PowersOf } from '../core/powers.ts'
import type { HostViews } from '../mcp/call.ts'
import type { ClientDocuments } from '../oauth/clients/client-documents.ts'
import { resourceOf } from '../oauth/urls.ts'
import type { Render } from '../pages/views.ts'
import { Accounts } from '../users/accounts.ts'
import { OneTimeLinks } from '../users/one-time-links.ts'
import { Passkeys } from '../users/passkeys.ts'
import { Passwords } from '../users/passwords.ts'
import { SecondFactors } from '../users/second-factors.ts'
import { Sessions } from '../users/sessions.ts'
import { SignIn } from '../users/sign-in.ts'
import type { Foundation, ServicesOptions, Undo } from './foundation.ts'
import type { House } from './house.ts'
import { type McpDoor, openMcp } from './mcp-door.ts'
import { type OAuthDoor, openOAuth } from './oauth-door.ts'
import { powersIn } from './powers.ts'

/** The ways in for people and clients: their identities, and what is kept of them while they are here. */
export interface Doors extends PublicAddress, ReturnType<typeof openSignIn>, Drawing, McpDoor, OAuthDoor {
  readonly powers: PowersOf
}

interface PublicAddress {
  /** The origin that every published URL begins with, without a trailing slash (D1). */
  readonly publicUrl: () => string
  readonly mcpUrl: () => string
  /** Sets the port that the daemon listens on: part of the public URL when none is set. */
  readonly listening: (port: number) => void
}

interface Drawing {
  /** Draws pages. */
  readonly render: Render
  /** The pages that MCP hosts show. */
  readonly views: HostViews
}

const minute = 60_000

/** Opens the doors of a house, and connects a daemon's metrics to them. */
export async function openDoors(
  foundation: Foundation,
  house: House,
  options: ServicesOptions,
  undo: Undo,
): Promise<Doors> {
  const { clock, store, audit, metrics, analysis, daemon } = foundation
  const { site } = house
  const address = addressOf(options, house)
  const { publicUrl } = address
  const mcp = await openMcp(foundation, house, publicUrl, undo)
  const oauth = openOAuth(foundation, house, publicUrl, mcp, undo)
  const drawing = daemon ? await openDrawing(house, publicUrl, mcp) : noDrawing
  if (daemon) {
    await oauth.clients.places.count()
    hourly(foundation, 'pruning clients', () => oauth.clients.prune(), undo)
    probeDocuments(foundation, house, oauth.clientDocuments, undo)
    every(minute, () => metrics.process?.minute(), undo)
    metrics.observe({
      site: () => site.state(),
      store: () => store.stats(),
      audit,
      streams: () => mcp.subscriptions.size,
      limits: () => house.limits.counts(),
      analysis,
      isTool: (name) => site.current().tools.some((tool) => tool.name === name),
    })
  }
  const powers = powersIn(house, clock)
  return { ...address, ...openSignIn(foundation, house, publicUrl), ...mcp, ...oauth, ...drawing, powers }
}

function openSignIn(
  { store, clock, audit }: Foundation,
  { settings, people }: House,
  publicUrl: () => string,
) {
  const accounts = new Accounts({ store })
  const passwords = new Passwords({ store, clock, people })
  return {
    accounts,
    links: new OneTimeLinks({ store, clock, people }),
    passkeys: new Passkeys({ store, clock, accounts, publicUrl }),
    passwords,
    secondFactors: new SecondFactors({ clock, accounts }),
    sessions: new Sessions({ store, clock, settings, people, accounts }),
    signIn: new SignIn({ store, clock, people, passwords, audit }),
  }
}

/** Loads the code that draws pages, which a command has no use for. */
async function openDrawing(
  { settings, site }: House,
  publicUrl: () => string,
  { suspended }: McpDoor,
): Promise<Drawing> {
  const [{ createViews }, { createHostViews }] = await Promise.all([
    import('../pages/views.ts'),
    import('../pages/host-views.ts'),
  ])
  const render = createViews({ settings, doctypes: () => site.current().documents.platform.doctypes })
  return { render, views: createHostViews({ render, publicUrl, suspended }) }
}

const undrawn = (): never => {
  throw new Error('only a daemon draws pages')
}
const noDrawing: Drawing = {
  render: undrawn,
  views: { html: undrawn, waitingFor: undrawn, about: undrawn },
}

function addressOf(options: ServicesOptions, { settings }: House): PublicAddress {
  let { port } = settings().server
  let known: { readonly of: string; readonly url: string } | undefined
  const publicUrl = (): string => {
    const of = options.publicUrl ?? settings().public_url ?? `http://localhost:${port}`
    if (known?.of !== of) known = { of, url: of.replace(/\/+$/, '') }
    return known.url
  }
  return {
    publicUrl,
    mcpUrl: () => resourceOf(publicUrl()),
    listening: (bound) => {
      port = bound
    },
  }
}

/** Probes whether client documents can be fetched: now, hourly, and when the settings that this depends on change. */
function probeDocuments(
  foundation: Foundation,
  { settings, onChange }: House,
  documents: ClientDocuments,
  undo: Undo,
): void {
  let tried = ''
  const known = (): string => {
    const { client_id_metadata_documents: mode, egress_proxy: proxy } = settings().oauth
    return JSON.stringify([mode, proxy])
  }
  const probe = (): Promise<void> => {
    tried = known()
    return documents.probe()
  }
  hourly(foundation, 'probing client documents', probe, undo)
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
