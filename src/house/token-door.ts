import { PushedRequests } from '../oauth/pushed-requests.ts'
import { Codes } from '../oauth/tokens/codes.ts'
import { Grants } from '../oauth/tokens/grants.ts'
import type { Ended } from '../oauth/tokens/revocation-news.ts'
import { Tokens } from '../oauth/tokens/tokens.ts'
import { TokenUsage } from '../oauth/tokens/usage.ts'
import { Trace } from '../oauth/trace.ts'
import type { Foundation, Undo } from './foundation.ts'

/** What was given to clients. */
export type TokenDoor = ReturnType<typeof openTokens>

/** Opens what was given to clients: it needs nothing of the site but its settings. */
export function openTokens({ store, clock, settings, log }: Foundation, undo: Undo) {
  const listeners: ((ended: readonly Ended[] | undefined) => void)[] = []
  const onRevoked = (ended: readonly Ended[] | undefined): void => listeners.forEach((tell) => tell(ended))
  const usage = new TokenUsage({ store, clock, log })
  undo.push(() => usage.close())
  return {
    tokens: new Tokens({ store, clock, settings, onRevoked }),
    /** Adds a listener for tokens that were revoked, by whichever daemon; undefined when it is not known whose they were. */
    onRevoked: (listener: (ended: readonly Ended[] | undefined) => void): void =>
      void listeners.push(listener),
    usage,
    codes: new Codes({ store, clock, settings }),
    pushed: new PushedRequests({ store, clock }),
    grants: new Grants({ store, clock }),
    trace: new Trace({ clock, store }),
  }
}
