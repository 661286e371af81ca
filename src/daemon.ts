/**
 * The daemon: services → listen → ready → signals; it stops in the reverse order. On SIGTERM `/readyz` reports the stop
 * while requests are still served; then, as at once on SIGINT, new ones are refused and running ones get their grace.
 * SIGHUP reloads the site or, where a terminal started the daemon, means that the terminal is gone and stops it.
 */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { createApp } from './app.ts'
import { listenForControl } from './control/server.ts'
import { http } from '#leaf/node-http.ts'
import { AppError } from '#leaf/errors.ts'
import { collectGarbage } from '#leaf/garbage.ts'
import { createLog } from '#leaf/log.ts'
import { keptAliveMilliseconds } from '#front/whole-answer.ts'
import { readSettingsAlone } from './house/open-state.ts'
import { listenForMetrics } from './http/metrics-listener.ts'
import { type ServicesOptions, undoAll } from './house/foundation.ts'
import { prepareSite } from './house/pulling.ts'
import { openServices, type Services } from './house/services.ts'

export interface DaemonOptions extends ServicesOptions {
  /** The host to listen on instead of the settings' own; so with the port. */
  readonly host?: string
  readonly port?: number
  /** A socket that already listens, as systemd passes it; takes precedence over host and port. */
  readonly listeningFd?: number
  /** True when a person started the daemon on a terminal and it should end with that terminal. */
  readonly onTerminal?: boolean
}

/** A daemon that accepts requests. */
export interface Daemon {
  readonly services: Services
  /** The address that it listens on; `services.publicUrl()` is the one that it publishes. */
  readonly address: AddressInfo
  /** Lets running requests end, then releases everything; with `drain`, first gives senders of requests time to notice. */
  stop(options?: { readonly drain?: boolean }): Promise<void>
}

/** Starts a daemon; on failure, undoes what was done. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  await prepareSite(options, options.log ?? createLog(options.logLevel ?? 'info', process.stdout))
  await requireFreePort(options)
  const services = await openServices({ ...options, daemon: true })
  let server: Server | undefined
  let control: Awaited<ReturnType<typeof listenForControl>> | undefined
  let metrics: Server | undefined
  let stopping: Promise<void> | undefined
  const stop = ({ drain = false } = {}): Promise<void> => (stopping ??= end(drain))
  const end = async (drain: boolean): Promise<void> => {
    services.log.info('stopping')
    services.leaving.begin()
    const { drain_seconds: told, shutdown_grace_seconds: grace } = services.site.current().settings.server
    if (drain) await setTimeout(told * 1000)
    services.drain()
    await undoAll([
      () => services.close(),
      () => metrics?.close().closeAllConnections(),
      () => control?.close(),
      () =>
        server && services.leaving.end(server, grace * 1000, { handedOn: options.listeningFd !== undefined }),
    ])
    services.log.info('stopped')
  }
  try {
    const { settings } = services.site.current()
    // The interval at which connections with late headers are looked for.
    server = http.createServer({ connectionsCheckingInterval: 5000 })
    limit(server, settings.server.request_timeout_seconds)
    // Whoever sees that the daemon is healthy may give it commands.
    control = await listenForControl(services)
    const { listeningFd, host = settings.server.host, port = settings.server.port } = options
    const address = await listen(server, listeningFd === undefined ? { host, port } : { fd: listeningFd })
    // The port is part of the public URL when none is set, so the app is created once the port is known.
    services.listening(address.port)
    guard(server, services)
    services.leaving.watch(server)
    server.on('request', createApp(services))
    if (settings.metrics.listen !== null)
      metrics = await listenForMetrics(services.metrics, settings.metrics.listen)
    return { services, address, stop }
  } catch (error) {
    await stop().catch(() => {})
    throw error
  }
}

/** Starts a daemon and waits until a signal ends it. */
export async function runDaemon(
  options: DaemonOptions,
  ready: (daemon: Daemon) => Promise<void>,
): Promise<void> {
  const daemon = await startDaemon(options)
  // What only the start needed is a third of what an idle daemon would keep: V8 leaves its nursery as large as the start made it.
  await collectGarbage()
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
  // Node aborts when it restores a terminal that is gone; when it dies of the signal, it does not try.
  if (signal === 'SIGHUP') process.kill(process.pid, signal)
}

/** Tests the port before a state is made and filled that would serve nobody. */
async function requireFreePort({ site, listeningFd, ...wanted }: DaemonOptions): Promise<void> {
  if (listeningFd !== undefined) return
  const { host, port } = { ...(await readSettingsAlone(site)).server, ...wanted }
  const trial = http.createServer()
  await listen(trial, { host, port })
  await new Promise((resolve) => trial.close(resolve))
}

/** Sets time limits, so that a peer that sends slowly, or never, does not hold a connection. */
function limit(server: Server, requestSeconds: number): void {
  server.headersTimeout = 15_000
  server.requestTimeout = requestSeconds * 1000
  server.keepAliveTimeout = keptAliveMilliseconds
  server.maxHeadersCount = 100
}

/** The most connections that may arrive at once; the system has any more try again after a second. */
const backlog = 4096

/** Serves only the connections that there is room for. */
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
