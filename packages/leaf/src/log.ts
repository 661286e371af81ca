/** The daemon's own log: one JSON object per line on standard output, redacted by key and by value. */
import { pino } from 'pino'
import { redact } from './redact.ts'

/** The lowest level that is written; `silent` is for commands that print results of their own. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

type Fields = Readonly<Record<string, unknown>>

/** The program's log: each entry has a message that says what happened, and fields that say to whom. */
export interface Log {
  /** Logs for debugging. Fields that are costly to gather are given as a function, which is called only when needed. */
  debug(message: string, fields?: Fields | (() => Fields)): void
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
  setLevel(level: LogLevel): void
}

/** Creates a log that writes to a stream; the daemon's is standard output. */
export function createLog(level: LogLevel, stream: { write(line: string): void }): Log {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  )
  const clean = (fields: Fields | undefined): Fields => redact(withErrors(fields ?? {})) as Fields
  return {
    debug: (message, fields) =>
      logger.isLevelEnabled('debug') &&
      logger.debug(clean(typeof fields === 'function' ? fields() : fields), message),
    info: (message, fields) => logger.info(clean(fields), message),
    warn: (message, fields) => logger.warn(clean(fields), message),
    error: (message, fields) => logger.error(clean(fields), message),
    setLevel: (next) => {
      logger.level = next
    },
  }
}

/** Returns a function that logs a frequent event once a second: its count, and the fields of the first time. */
export function summing(log: Log, message: string): (fields: Fields) => void {
  let count = 0
  return (fields) => {
    if (count++ > 0) return
    setTimeout(() => {
      log.warn(message, { count, ...fields })
      count = 0
    }, 1000).unref()
  }
}

/** Converts errors to plain objects, since JSON leaves out the properties that hold their text. */
function withErrors(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? describe(value) : value]),
  )
}

function describe(error: Error): Fields {
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause instanceof Error ? { cause: describe(error.cause) } : {}),
  }
}
