/** Everything that daemons on one database tell each other: a table of topics, and the one way to announce and to hear. */
import { longestAnnouncement, type Store, type Transaction } from '#state/store.ts'

/** What an announcement begins with. Daemons of other versions know them too. */
const words = {
  /** Requests that were taken from budgets (`oauth/rate-limits.ts`). */
  limits: 'limits ',
  /** Attempts at a password, and right ones (`credentials/src/sign-in.ts`). */
  signIn: 'sign_in ',
  /** The steps of a connection (`oauth/trace.ts`). */
  attempt: 'attempt ',
  /** Whose tokens and API keys ended (`oauth/tokens/revocation-news.ts`). */
  revoked: 'tokens.revoked ',
  /** A suspended call that was decided on (`mcp/waiting/waiting-room.ts`). */
  waiting: 'mcp.waiting ',
  /** A call to be ended (`mcp/running.ts`). */
  cancel: 'mcp.cancel ',
  /** A stream that a client wants to go on with, and one of which there is more (`mcp/streams/kept-streams.ts`). */
  streamAsked: 'mcp.stream asked ',
  streamTold: 'mcp.stream told ',
} as const
type Topic = keyof typeof words

/** Announces a text on commit; false, and nothing, where it is too long. */
export function announce(transaction: Pick<Transaction, 'announce'>, topic: Topic, text: string): boolean {
  const message = words[topic] + text
  if (Buffer.byteLength(message) > longestAnnouncement) return false
  transaction.announce(message)
  return true
}

/** Subscribes to a topic; `missed` is called where any number of its announcements may have been missed. */
export function hear(
  store: Pick<Store, 'hear'>,
  topic: Topic,
  heard: (text: string) => void,
  missed?: () => void,
): void {
  const word = words[topic]
  store.hear((message) => {
    if (message === undefined) missed?.()
    else if (message.startsWith(word)) heard(message.slice(word.length))
  })
}
