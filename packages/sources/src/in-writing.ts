/** Work that writes to a database of others, in one transaction there. */

/** A transaction of a source, by what names it there, and when it was begun. */
export interface TransactionThere {
  readonly transaction: string
  readonly time: string
}

/** What became of a transaction of a source. */
export type Outcome = 'committed' | 'aborted' | 'in progress' | 'unknown'

/** Thrown when nobody knows yet whether a change was made: the connection broke while it was committed. */
export class UnknownThere extends Error {}

/** Milliseconds that rows are waited for which somebody else holds, and that our own state may hold them up. */
export const writingLimits = { lock: 5000, idle: 60_000 } as const

/** A connection that writes, to whatever kind of database. */
interface WritingConnection {
  begin(): Promise<unknown>
  end(how: 'COMMIT' | 'ROLLBACK'): Promise<unknown>
  /** True for the error of a commit by which the database itself says that it was none. */
  saysUndone(error: unknown): boolean
  /** Gives the connection back, or ends it with an error. */
  release(error?: Error): void
}

/**
 * Runs work in a transaction and commits it or, with `dry`, rolls it back; `last` comes before the commit. Throws UnknownThere
 * where nobody knows whether it was committed.
 */
export async function inWriting<R>(
  connection: WritingConnection,
  signal: AbortSignal,
  { dry, last }: { readonly dry: boolean; readonly last: () => Promise<void> },
  work: () => Promise<R>,
): Promise<R> {
  let end = (error?: Error): void => {
    end = () => undefined
    connection.release(error)
  }
  const stop = (): void => end(new Error('the call has ended'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    signal.throwIfAborted()
    await connection.begin()
    const value = await work()
    if (!dry) await last()
    signal.throwIfAborted()
    signal.removeEventListener('abort', stop)
    await (dry ? connection.end('ROLLBACK') : committed(connection))
    end()
    return value
  } catch (error) {
    if (error instanceof UnknownThere || signal.aborted) end(error as Error)
    else await connection.end('ROLLBACK').then(() => end(), end)
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function committed(connection: WritingConnection): Promise<void> {
  await connection.end('COMMIT').catch((error: unknown) => {
    if (connection.saysUndone(error)) throw error
    throw new UnknownThere('the connection broke at the commit', { cause: error })
  })
}
