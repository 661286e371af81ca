/** Builds everything that holds state, once and in order, and only what is asked for. */
import type { Leaving } from '#front/front.ts'
import type { Keys } from '../oauth/tokens/keys.ts'
import type { ClientDoor } from './client-door.ts'
import type { Daemons } from './daemons.ts'
import type { Doors } from './doors.ts'
import { type Foundation, openFoundation, type ServicesOptions, type Undo, undoAll } from './foundation.ts'
import type { House } from './house.ts'
import type { McpDoor } from './mcp-door.ts'
import type { OAuthDoor } from './oauth-door.ts'
import type { PublicAddress } from './public-address.ts'
import type { SignInDoor } from './sign-in-door.ts'
import type { StreamDoor } from './stream-door.ts'
import type { TokenDoor } from './token-door.ts'

/** The services of the daemon and of the offline command line. */
export interface Services
  extends
    Foundation,
    House,
    PublicAddress,
    TokenDoor,
    ClientDoor,
    StreamDoor,
    OAuthDoor,
    SignInDoor,
    McpDoor,
    Doors {
  readonly keys: Keys
  readonly leaving: Leaving
  readonly daemons: Daemons
  /** Closes everything, once however often it is called, and also when a part of it fails. */
  close(): Promise<void>
}

/** The name of a service. */
export type ServiceName = Exclude<keyof Services, 'close'>

/** A part of the services. Its code is loaded when it opens, as that of parts that nobody needs is most of the program. */
interface Part {
  readonly gives: readonly ServiceName[]
  /** The services of other parts that it builds on. */
  readonly takes: readonly ServiceName[]
  open(taken: Services, options: ServicesOptions, undo: Undo): Promise<object>
}

function part<const Gives extends ServiceName, const Takes extends ServiceName>(one: {
  readonly gives: readonly Gives[]
  readonly takes: readonly Takes[]
  open(taken: Pick<Services, Takes>, options: ServicesOptions, undo: Undo): Promise<Pick<Services, Gives>>
}): Part & { readonly gives: readonly Gives[] } {
  return one
}

const foundation = part({
  gives: [
    ...(['folders', 'secretPath', 'settings', 'obey', 'startedAt', 'daemon', 'clock', 'log'] as const),
    ...(['store', 'metrics', 'audit', 'tracing', 'analysis'] as const),
  ],
  takes: [],
  open: (_taken, options, undo) => openFoundation(options, undo),
})
const house = part({
  gives: [
    ...(['site', 'pulling', 'reload', 'people', 'librarian', 'promptMethods', 'promptWriter'] as const),
    ...(['refusalOf', 'previews', 'limits', 'ownTools', 'refreshed', 'onChange'] as const),
  ],
  takes: foundation.gives,
  open: async (taken, options, undo) => (await import('./house.ts')).openHouse(taken, options, undo),
})
const address = part({
  gives: ['publicUrl', 'mcpUrl', 'listening'],
  takes: ['settings'],
  open: async (taken, options) => (await import('./public-address.ts')).publicAddressOf(taken, options),
})
const tokens = part({
  gives: ['tokens', 'onRevoked', 'usage', 'codes', 'pushed', 'grants', 'trace'],
  takes: foundation.gives,
  open: async (taken, _options, undo) => (await import('./token-door.ts')).openTokens(taken, undo),
})
const clients = part({
  gives: ['clients', 'clientDocuments'],
  takes: [...foundation.gives, 'tokens'],
  open: async (taken) => (await import('./client-door.ts')).openClients(taken),
})
const streams = part({
  gives: ['snapshot', 'subscriptions', 'running'],
  takes: [...foundation.gives, ...house.gives],
  open: async (taken) => (await import('./stream-door.ts')).openStreams(taken),
})
const keys = part({
  gives: ['keys'],
  takes: ['store', 'clock'],
  open: async (taken) => ({ keys: new (await import('../oauth/tokens/keys.ts')).Keys(taken) }),
})
const oauth = part({
  gives: ['apiKeys', 'assertions', 'identityProviders', 'upstream', 'clientLimits'],
  takes: [...foundation.gives, ...house.gives, ...address.gives, ...tokens.gives, ...streams.gives, 'keys'],
  open: async (taken) => (await import('./oauth-door.ts')).openOAuth(taken),
})
const signIn = part({
  gives: ['accounts', 'links', 'passkeys', 'passwords', 'secondFactors', 'sessions', 'signIn'],
  takes: [...foundation.gives, 'people', 'publicUrl'],
  open: async (taken) => (await import('./sign-in-door.ts')).openSignIn(taken),
})
const mcp = part({
  gives: ['suspended', 'tasks', 'kept', 'signingKey', 'listPages', 'logLevels', 'version'],
  takes: [...foundation.gives, 'publicUrl', 'running'],
  open: async (taken, _options, undo) => (await import('./mcp-door.ts')).openMcp(taken, undo),
})
const leaving = part({
  gives: ['leaving'],
  takes: [],
  open: async () => ({ leaving: new (await import('#front/front.ts')).Leaving() }),
})
const daemons = part({
  gives: ['daemons'],
  takes: [...foundation.gives, ...house.gives],
  open: async (taken, _options, undo) => (await import('./daemons.ts')).openDaemons(taken, undo),
})
const doors = part({
  gives: [
    ...(['render', 'views', 'powers', 'places', 'line', 'connections', 'trusted', 'pageStreams'] as const),
    ...(['answers', 'probe', 'examination', 'firstSignIn', 'drain'] as const),
  ],
  takes: [
    ...(['people', 'publicUrl', 'passwords', 'clients', 'clientDocuments', 'subscriptions'] as const),
    ...([...foundation.gives, ...house.gives, ...mcp.gives] as const),
  ],
  open: async (taken, _options, undo) => (await import('./doors.ts')).openDoors(taken, undo),
})

/** All parts, each behind those that it builds on. */
const parts = [
  foundation,
  house,
  address,
  tokens,
  clients,
  streams,
  keys,
  oauth,
  signIn,
  mcp,
  leaving,
  daemons,
  doors,
] as const satisfies readonly Part[]
type Given = (typeof parts)[number]['gives'][number]

/** Opens services as they are asked for, each once. */
export class Opening {
  readonly #options: ServicesOptions
  readonly #undo: Undo = []
  readonly #open = { close: () => this.close() } as Services
  #closing: Promise<void> | undefined

  constructor(options: ServicesOptions) {
    this.#options = options
  }

  /**
   * Opens services and what they build on; on failure, closes all. AppError `conflict` when another process has the state, `invalid`
   * with `data.faults` for a bad site.
   */
  async take<Name extends ServiceName>(names: readonly Name[]): Promise<Pick<Services, Name | 'close'>> {
    const wanted = new Set<ServiceName>(names)
    const missing = parts.toReversed().filter(({ gives, takes }: Part) => {
      if (!gives.some((name) => wanted.has(name))) return false
      for (const name of takes) wanted.add(name)
      return gives.some((name) => !(name in this.#open))
    })
    try {
      for (const one of missing.toReversed())
        Object.assign(this.#open, await (one as Part).open(this.#open, this.#options, this.#undo))
      return this.#open
    } catch (error) {
      // The reason why opening failed says more than an error while closing.
      await (this.#closing = this.close().catch(() => {}))
      throw error
    }
  }

  /** Closes everything, once however often it is called, and also when a part of it fails. */
  close(): Promise<void> {
    return (this.#closing ??= undoAll(this.#undo))
  }
}

/** Opens all services; does not compile while one has no part. */
export async function openServices(options: ServicesOptions): Promise<Services> {
  return await new Opening(options).take(parts.flatMap(({ gives }): readonly Given[] => gives))
}
