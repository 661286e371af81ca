/** Asks a source on PostgreSQL a question, in a transaction that writes nothing. */
import { type Connection, DatabaseError, type Pool, type PoolClient, Query } from 'pg'
import { grace } from './source-limits.ts'
import { undo, untilEnded } from './source-pool.ts'

type Rows = readonly unknown[][]

/** A question, with the milliseconds that it may take. */
interface Asked {
  readonly text: string
  readonly values: readonly unknown[]
  readonly milliseconds: number
}

/** The statements that begin a question: those of all, and those that tell who asks. */
interface Begun {
  readonly all: readonly string[]
  readonly told: readonly string[]
}

type Plan = 'kept' | 'planned'

/** A question on its way: its plan, if the session has one to keep, and whether it had; `isPlain` to use nothing that is prepared. */
interface Way extends Asked {
  readonly plan: Plan
  isKept: boolean
  readonly isPlain: boolean
}

/** The session of a connection. */
interface Session {
  /**
   * The names of what it has prepared, by their texts; one that came once has none yet. Absent behind a pooler, where the next
   * transaction may have another session.
   */
  readonly prepared?: Map<string, string>
  /** How many names were given: what failed may be prepared all the same. */
  names: number
  /** The messages around a question. */
  around?: Readonly<Record<Plan | 'once' | 'end', Buffer>>
}

const sessions = new WeakMap<PoolClient, Session>()

/** The most texts that a session knows; one with more is closed. */
const mostKnown = 200

/**
 * A prepared statement keeps its plan, which may be bad for other values. What a kept plan does not answer in a while is
 * asked once more, and a text that is often slow is planned anew each time: then planning is the least of it.
 */
const setting = {
  kept: 'SET LOCAL statement_timeout = 1000',
  planned: 'SET LOCAL plan_cache_mode = force_custom_plan',
} as const
const keptMilliseconds = 1000
const slowMilliseconds = 50
/** How slow texts are, in quick answers that make up for it: one slow answer in twenty is often. */
const slowness = new WeakMap<Pool, Map<string, number>>()
const oneSlow = 20
const often = 2 * oneSlow

function slownessIn(pool: Pool): Map<string, number> {
  let texts = slowness.get(pool)
  if (!texts || texts.size > mostKnown) slowness.set(pool, (texts = new Map()))
  return texts
}

/**
 * Runs a statement. Its beginning, settings, the statement and its end go there as one message and come back as one: each
 * way takes longer than most answers.
 */
export async function askReadOnly(
  pool: Pool,
  signal: AbortSignal | undefined,
  asked: Asked,
  begun: Begun,
): Promise<Rows> {
  const texts = slownessIn(pool)
  const { text } = asked
  const slow = texts.get(text) ?? 0
  const keeps = asked.milliseconds > keptMilliseconds && slow < often
  const way: Way = { ...asked, plan: keeps ? 'kept' : 'planned', isKept: false, isPlain: false }
  const began = performance.now()
  try {
    const rows = await askOnce(pool, signal, way, begun)
    if (performance.now() - began > slowMilliseconds) texts.set(text, slow + oneSlow)
    else if (slow > 0) texts.set(text, slow - 1)
    return rows
  } catch (error) {
    const code = error instanceof DatabaseError && !signal?.aborted ? error.code : undefined
    if (!(code === '57014' && way.isKept) && !forgotten.has(code)) throw error
    texts.set(text, 100 * often)
    return await askOnce(pool, signal, { ...way, plan: 'planned', isPlain: forgotten.has(code) }, begun)
  }
}

/** The errors of a prepared statement that somebody ended, or that shows other columns since. */
const forgotten = new Set<unknown>(['26000', '42P05', '0A000'])

async function askOnce(pool: Pool, signal: AbortSignal | undefined, way: Way, begun: Begun): Promise<Rows> {
  let failure: unknown
  let session: Session | undefined
  const ask = async (client: PoolClient): Promise<Rows> => {
    try {
      session = way.isPlain ? undefined : sessions.get(client)
      session ??= await sessionOf(client, begun, way)
      return await rowsOf(client, session, way, begun)
    } catch (error) {
      failure = error
      throw error
    }
  }
  const end = async (client: PoolClient): Promise<void> => {
    // Who did not answer is not asked again, nor is a session that lost what it had prepared.
    if (failure && (!(failure instanceof DatabaseError) || forgotten.has(failure.code))) throw failure
    // A name that was given to what failed is known no more, and its statement may be there all the same.
    if (session?.prepared && Math.max(session.prepared.size, session.names) > mostKnown)
      throw new Error('it has prepared much')
    if (failure) await undo(client)
  }
  return await untilEnded(pool, signal, ask, end)
}

/** Looks whether a session is the connection's own: a pooler has numbers of its own. One that is prepares what is around questions. */
async function sessionOf(
  client: PoolClient & { readonly processID?: number },
  { all }: Begun,
  { isPlain }: Way,
): Promise<Session> {
  const { rows } = await client.query<{ id: number }>('SELECT pg_backend_pid() AS id')
  const isOwn = rows[0]!.id === client.processID && !isPlain
  if (isOwn)
    for (const text of [...all, setting.planned, setting.kept, 'ROLLBACK'])
      await client.query({ name: nameOf(text), text })
  const session: Session = { names: 0, ...(isOwn && { prepared: new Map<string, string>() }) }
  sessions.set(client, session)
  return session
}

/** The name under which a session prepares what is around questions; names end at 63 bytes. */
function nameOf(text: string): string {
  return text.slice(-63)
}

/** Returns the messages around a question in a session. */
function aroundOf(
  connection: Connection,
  { prepared }: Session,
  { all }: Begun,
): NonNullable<Session['around']> {
  const sent = (texts: readonly string[]): Buffer =>
    written(connection, (to) => {
      for (const text of texts) send(to, text, prepared && nameOf(text))
    })
  const sync = written(connection, (to) => to.sync())
  return {
    once: sent(all),
    kept: sent([...all, setting.kept]),
    planned: sent([...all, setting.planned]),
    end: Buffer.concat([sent(['ROLLBACK']), sync]),
  }
}

/** Sends a question with what is around it; returns its rows. */
function rowsOf(client: PoolClient, session: Session, way: Way, begun: Begun): Promise<Rows> {
  const { text, values, milliseconds, plan } = way
  const { prepared } = session
  const known = prepared?.get(text)
  const name = known === '' ? `q${++session.names}` : (known ?? '')
  way.isKept = name !== '' && plan === 'kept'
  const how = name === '' ? { queryMode: 'extended' as const } : { name }
  const config = { text, values: [...values], rowMode: 'array' as const, ...how }
  const query = new Query<unknown[], unknown[]>(config)
  const submit = query.submit.bind(query)
  return new Promise((resolve, reject) => {
    Object.assign(query, {
      query_timeout: milliseconds + grace,
      callback: (error: Error | null, result: { readonly rows: Rows }) => {
        if (error) return reject(error)
        prepared?.set(text, name)
        resolve(result.rows)
      },
      // Those of the statements around it say nothing.
      handleCommandComplete: () => undefined,
      submit: (connection: Connection) => {
        const { end, ...begins } = (session.around ??= aroundOf(connection, session, begun))
        const begin = begins[name === '' ? 'once' : plan]
        const there = {
          parsedStatements: { value: known ? { [name]: text } : {} },
          submittedNamedStatements: { value: {} },
          sync: { value: () => undefined },
        }
        const own = written(
          connection,
          (to) => {
            for (const one of begun.told) send(to, one)
            submit(to)
          },
          there,
        )
        connection.stream.write(Buffer.concat([begin, own, end]))
      },
    })
    client.query(query)
  })
}

/** Returns what work sends over a connection, which is not sent: as one buffer, messages arrive at once. */
function written(
  connection: Connection,
  work: (to: Connection) => void,
  more: PropertyDescriptorMap = {},
): Buffer {
  const parts: Buffer[] = []
  const nothing = (): void => undefined
  const stream = {
    writable: true,
    cork: nothing,
    uncork: nothing,
    write: (part: Buffer) => parts.push(part) > 0,
  }
  work(Object.create(connection, { ...more, stream: { value: stream } }) as Connection)
  return Buffer.concat(parts)
}

/** Sends a statement without values; one with a name was prepared. */
function send(connection: Connection, text: string, name = ''): void {
  if (name === '') connection.parse({ text, name, types: [] }, true)
  connection.bind({ statement: name }, true)
  connection.execute({}, true)
}
