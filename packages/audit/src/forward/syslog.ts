/**
 * Forwarding to syslog: RFC 5424 messages over UDP (RFC 5426), TCP with octet counting (RFC 6587 §3.4.1),
 * TLS (RFC 5425) or a Unix stream socket. Node has no Unix datagram sockets, which `/dev/log` mostly is.
 */
import { within } from '#leaf/deadline.ts'
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { readFile } from 'node:fs/promises'
import { connect, isIP, type Socket } from 'node:net'
import { hostname } from 'node:os'
import process from 'node:process'
import { connect as connectTls } from 'node:tls'
import { AppError } from '#leaf/errors.ts'
import type { AuditLine, AuditStatus } from '../audit.ts'
import type { Sink } from './forward.ts'

/** The destination of syslog messages. */
export interface SyslogSettings {
  readonly transport: 'udp' | 'tcp' | 'tls' | 'unix'
  /** The host, for all but `unix`. */
  readonly host?: string
  /** The port; 514, or 6514 for `tls`, when absent. */
  readonly port?: number
  /** The path of the socket, for `unix`. */
  readonly path?: string
  /** A file with the certificates to trust, for `tls`; the system's when absent. */
  readonly ca_file?: string
}

const severities: Readonly<Record<AuditStatus, number>> = {
  ok: 6,
  waiting: 6,
  cancelled: 6,
  denied: 4,
  timeout: 4,
  error: 3,
}
/** The facility "log audit"; RFC 5424 §6.2.1. */
const facility = 13
const sendMilliseconds = 10_000

/** Returns a sink for the settings; AppError `invalid` when they do not name a destination. */
export function syslogSink(settings: SyslogSettings): Sink {
  const { transport, path } = settings
  if (transport === 'unix' ? !path : !settings.host) {
    throw new AppError(
      'invalid',
      `audit.syslog: ${transport === 'unix' ? 'path' : 'host'} is required for ${transport}`,
    )
  }
  const host = settings.host ?? ''
  const port = settings.port ?? (transport === 'tls' ? 6514 : 514)
  const name = transport === 'unix' ? `syslog unix:${path}` : `syslog ${transport}://${host}:${port}`
  return transport === 'udp' ? udpSink(name, host, port) : streamSink(name, host, port, settings)
}

/** Returns a line of the log as a syslog message. */
export function syslogMessage(line: string): string {
  const { time, type, status } = JSON.parse(line) as AuditLine
  const priority = facility * 8 + (severities[status] ?? 5)
  const header = [
    `<${priority}>1`,
    time,
    word(hostname(), 255),
    'assistant-core',
    String(process.pid),
    word(type, 32),
    '-',
  ]
  return `${header.join(' ')} ${line}`
}

/** Returns a header field: printable ASCII without spaces (RFC 5424 §6). */
function word(text: string, length: number): string {
  return text.replace(/[^\x21-\x7e]/g, '_').slice(0, length) || '-'
}

function udpSink(name: string, host: string, port: number): Sink {
  let socket: UdpSocket | undefined
  return {
    name,
    async send(lines) {
      socket ??= createSocket({ type: host.includes(':') ? 'udp6' : 'udp4' }).on('error', () => undefined)
      const live = socket.unref()
      for (const line of lines) {
        const message = Buffer.from(syslogMessage(line))
        await new Promise<void>((resolve, reject) => {
          live.send(message, port, host, (error) => (error ? reject(error) : resolve()))
        })
      }
    },
    close() {
      socket?.close()
      socket = undefined
    },
  }
}

function streamSink(name: string, host: string, port: number, settings: SyslogSettings): Sink {
  let socket: Socket | undefined
  const close = (): void => {
    socket?.destroy()
    socket = undefined
  }
  return {
    name,
    async send(lines, signal) {
      const limit = within(sendMilliseconds, signal)
      try {
        socket = socket?.writable ? socket : await open(host, port, settings, limit)
        const messages = lines.map((line) => {
          const message = syslogMessage(line)
          return `${Buffer.byteLength(message)} ${message}`
        })
        await write(socket, messages.join(''), limit)
      } catch (error) {
        close()
        throw error
      }
    },
    close,
  }
}

async function open(
  host: string,
  port: number,
  settings: SyslogSettings,
  signal: AbortSignal,
): Promise<Socket> {
  const { transport, path, ca_file: caFile } = settings
  const ca = caFile === undefined ? undefined : await readFile(caFile)
  const socket =
    transport === 'unix'
      ? connect({ path: path ?? '' })
      : transport === 'tls'
        ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ...(ca && { ca }) })
        : connect({ host, port })
  // The server sends nothing; reading detects when it goes away.
  socket.resume().unref()
  const ready = transport === 'tls' ? 'secureConnect' : 'connect'
  await settled(signal, socket, (resolve) => socket.once(ready, resolve))
  socket.on('error', () => undefined)
  return socket
}

async function write(socket: Socket, text: string, signal: AbortSignal): Promise<void> {
  await settled(signal, socket, (resolve, reject) => {
    socket.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/** Waits for an event of a socket, no longer than the socket and the signal last. */
async function settled(
  signal: AbortSignal,
  socket: Socket,
  start: (resolve: () => void, reject: (error: Error) => void) => void,
): Promise<void> {
  const end = new AbortController()
  try {
    await new Promise<void>((resolve, reject) => {
      const closed = (): void => reject(new Error('the connection was closed'))
      const aborted = (): void => reject(new Error('it took too long'))
      socket.once('error', reject)
      socket.once('close', closed)
      signal.addEventListener('abort', aborted, { once: true, signal: end.signal })
      end.signal.addEventListener('abort', () => {
        socket.off('error', reject)
        socket.off('close', closed)
      })
      start(resolve, reject)
    })
  } catch (error) {
    socket.on('error', () => undefined)
    socket.destroy()
    throw error
  } finally {
    end.abort()
  }
}
