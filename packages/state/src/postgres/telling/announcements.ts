/**
 * The ways in which daemons tell each other what they committed: the server notifies those that listen, or, where it cannot,
 * as engines that only speak PostgreSQL's language may not, each looks into a table every second.
 */
import type { Client } from 'pg'
import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Statement } from '../servers/connection.ts'
import { codeOf } from '../servers/errors.ts'
import { make } from '../running/locks.ts'

/** One way. */
export interface Announcements {
  /** Returns the statement by which a transaction announces a text when it commits. */
  announcing(text: string): Statement
  /** Hears on a connection while that is open; settles when all that is announced from now on is heard. `other` opens another. */
  hear(client: Client, other: () => Promise<Client>, heard: (text: string) => void): Promise<void>
}

export type AnnouncementWay = 'notified' | 'polled'

/** The channel on which daemons announce what they committed. */
const channel = 'assistant_core'
const greeting = 'listening '
const othersMilliseconds = 5_000

const notified: Announcements = {
  announcing: (text) => ({ text: 'SELECT pg_notify($1, $2)', values: [channel, text] }),
  hear: async (client, other, heard) => {
    client.on('notification', ({ payload = '' }) => {
      if (!payload.startsWith(greeting)) heard(payload)
    })
    await client.query(`LISTEN ${channel}`)
    await hearsOthers(client, await other())
  },
}

/** Checks that notifications arrive: a pooler that gives each transaction another session drops them silently. */
async function hearsOthers(client: Client, other: Client): Promise<void> {
  const said = greeting + randomId()
  let late: NodeJS.Timeout | undefined
  const heard = new Promise<boolean>((resolve) => {
    client.on('notification', ({ payload }) => {
      if (payload === said) resolve(true)
    })
    late = setTimeout(resolve, othersMilliseconds, false)
  })
  try {
    await other.query('SELECT pg_notify($1, $2)', [channel, said])
    if (await heard) return
  } finally {
    clearTimeout(late)
    await other.end()
  }
  throw new AppError(
    'unavailable',
    "what daemons tell each other does not arrive: behind a pooler that keeps no sessions, the file of store.url_file needs the database's own address as its second line",
  )
}

const lookMilliseconds = 1_000
/** Seconds that an announcement stands in the table: a transaction may commit late what it wrote early. */
const standsSeconds = 60
const looksPerTidying = 30

const table = `CREATE TABLE IF NOT EXISTS assistant_core.announcement (id text PRIMARY KEY,
  at double precision NOT NULL DEFAULT extract(epoch FROM clock_timestamp()), text text NOT NULL)`
const looking = `SELECT id, text FROM assistant_core.announcement
  WHERE at > extract(epoch FROM clock_timestamp()) - ${standsSeconds}`
const tidying = `DELETE FROM assistant_core.announcement
  WHERE at < extract(epoch FROM clock_timestamp()) - ${2 * standsSeconds}`

const polled: Announcements = {
  announcing: (text) => ({
    text: 'INSERT INTO assistant_core.announcement (id, text) VALUES ($1, $2)',
    values: [randomId(), text],
  }),
  hear: async (client, _, heard) => {
    await make(client, table)
    let known = new Set<string>()
    const look = async (tell: (text: string) => void): Promise<void> => {
      const { rows } = await client.query<[string, string]>({ text: looking, rowMode: 'array' })
      for (const [id, text] of rows) if (!known.has(id)) tell(text)
      known = new Set(rows.map(([id]) => id))
    }
    // What was announced before is not news.
    await look(() => undefined)
    let looks = 0
    let isLooking = false
    const timer = setInterval(() => {
      if (isLooking) return
      isLooking = true
      void look(heard)
        .then(() => (++looks % looksPerTidying === 0 ? client.query(tidying) : undefined))
        .catch((error: unknown) =>
          client.emit('error', error instanceof Error ? error : new Error(String(error))),
        )
        .finally(() => (isLooking = false))
    }, lookMilliseconds).unref()
    for (const event of ['end', 'error']) client.on(event as 'end', () => clearInterval(timer))
  },
}

/** Hears by notifications where the server has them; else, or where that is wanted, by looking. Returns the way. */
export async function hearAnnouncements(
  wanted: AnnouncementWay | undefined,
  ...on: Parameters<Announcements['hear']>
): Promise<Announcements> {
  if (wanted !== 'polled')
    try {
      await notified.hear(...on)
      return notified
    } catch (error) {
      if (wanted === 'notified' || !/^(0A000|42601|42883)$/.test(codeOf(error))) throw error
    }
  await polled.hear(...on)
  return polled
}
