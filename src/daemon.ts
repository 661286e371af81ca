/**
 * The daemon: services → listen → ready → signals; it stops in the reverse order. SIGTERM is told by `/readyz` while
 * requests are served on; then, as at once on SIGINT, new ones are refused, running ones get their grace. SIGHUP reloads the site, or, where a terminal
 * started the daemon, says that the terminal is gone and stops it.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { createApp } from './app.ts'
import { listenForControl, type ControlServer } from './control/server.ts'
import { AppError } from './core/errors.ts'
import { createLog } from './core/log.ts'
import { keptAliveMilliseconds } from './core/whole-answer.ts'
import { readSettingsAlone } from './build/open-state.ts'
import { listenForMetrics } from './http/metrics-listener.ts'
import type { ServicesOptions } from './build/foundation.ts'
import { prepareSite } from './build/pulling.ts'
import { openServices, type Services } from './build/services.ts'

export interface DaemonOptions extends ServicesOptions {
  /** Instead of the settings' own. */
  readonly host?: string
  readonly port?: number
  /** A socket that listens already, as systemd hands it over; goes before host and port. */
  readonly listeningFd?: number
  /** Whether a person started it on a terminal, and it should end with that. */
  readonly onTerminal?: boolean
}

/** A daemon that accepts requests. */
export interface Daemon {
  readonly services: Services
  /** Where it listens; `services.publicUrl()` is what it publishes. */
  readonly address: AddressInfo
  /** Lets running requests end, then lets go of everything; with `drain`, after who sends requests has had time to see it. */
  stop(options?: { readonly drain?: boolean }): Promise<void>
}

/** Starts a daemon; what fails on the way is undone. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  await prepareSite(options.site, options.log ?? createLog(options.logLevel ?? 'info', process.stdout))
  await requireFreePort(options)
  const services = await openServices({ ...options, daemon: true })
  let server: Server | undefined
  let control: ControlServer | undefined
  let metrics: Server | undefined
  const stop = async ({ drain = false } = {}): Promise<void> => {
    services.log.info('stopping')
    services.leaving.begin()
    const { drain_seconds: told, shutdown_grace_seconds: grace } = services.site.current().settings.server
    if (drain) await setTimeout(told * 1000)
    services.drain()
    if (server) await services.leaving.end(server, grace * 1000)
    await control?.close()
    metrics?.close().closeAllConnections()
    await services.close()
    services.log.info('stopped')
  }
  try {
    const { settings } = services.site.current()
    // How often connections are looked through for those that are late with their headers.
    server = createServer({ connectionsCheckingInterval: 5000 })
    limit(server, settings.server.request_timeout_seconds)
    const { listeningFd, host = settings.server.host, port = settings.server.port } = options
    const address = await listen(server, listeningFd === undefined ? { host, port } : { fd: listeningFd })
    // The port is part of the public URL when none is set, so the surface is built once it is known.
    services.listening(address.port)
    guard(server, services)
    server.on('request', createApp(services))
    control = await listenForControl(services)
    if (settings.metrics.listen !== null)
      metrics = await listenForMetrics(services.metrics, settings.metrics.listen)
    return { services, address, stop }
  } catch (error) {
    await stop().catch(() => {})
    throw error
  }
}

/** Starts a daemon and stays with it until a signal ends it. */
export async function runDaemon(
  options: DaemonOptions,
  ready: (daemon: Daemon) => Promise<void>,
): Promise<void> {
  const daemon = await startDaemon(options)
  const { log, reload } = daemon.services
  const ended = new Promise<NodeJS.Signals>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', ...(options.onTerminal ? ['SIGHUP' as const] : [])] as const)
      process.once(signal, resolve)
  })
  if (!options.onTerminal)
    process.on(
      'SIGHUP',
      () => void reload('SIGHUP').catch((error: unknown) => log.error('reload failed', { error })),
    )
  log.info('listening', {
    url: daemon.services.publicUrl(),
    host: daemon.address.address,
    port: daemon.address.port,
  })
  await ready(daemon)
  const signal = await ended
  await daemon.stop({ drain: signal === 'SIGTERM' })
  // Node aborts when it puts a terminal back that is gone; dying of the signal, it does not try.
  if (signal === 'SIGHUP') process.kill(process.pid, signal)
}

/** Tries the port before a state is made and filled that nobody would be served. */
async function requireFreePort({ site, listeningFd, ...wanted }: DaemonOptions): Promise<void> {
  if (listeningFd !== undefined) return
  const { host, port } = { ...(await readSettingsAlone(site)).server, ...wanted }
  const trial = createServer()
  await listen(trial, { host, port })
  await new Promise((resolve) => trial.close(resolve))
}

/** A peer that sends slowly, or never, must not hold a connection. */
function limit(server: Server, requestSeconds: number): void {
  server.headersTimeout = 15_000
  server.requestTimeout = requestSeconds * 1000
  server.keepAliveTimeout = keptAliveMilliseconds
  server.maxHeadersCount = 100
}

/** As many may come at once; of more, the system has each try again after a second. */
const backlog = 4096

/** Has those connections served that there is room for. */
function guard(server: Server, { line, connections }: Services): void {
  const serving = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket) => {
    line.connected()
    if (connections.admit(socket)) for (const serve of serving) Reflect.apply(serve, server, [socket])
    else socket.resetAndDestroy()
  })
}

function listen(
  server: Server,
  where: { readonly host: string; readonly port: number } | { readonly fd: number },
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? 'another program listens there; choose another port with --port or the setting server.port'
          : error.message
      const place = 'fd' in where ? 'the socket of systemd' : `${where.host}:${where.port}`
      reject(new AppError('unavailable', `cannot listen on ${place}: ${reason}`, { cause: error }))
    })
    server.listen({ ...where, backlog }, () => resolve(server.address() as AddressInfo))
  })
}
