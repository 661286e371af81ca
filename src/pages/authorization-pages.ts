/** The pages that the authorization endpoint shows. */
import { createRequire } from 'node:module'
import type * as tldts from 'tldts'
import type { AuthorizationPages } from '../oauth/authorization-endpoint.ts'
import type { ConsentView } from '../oauth/consent-endpoint.ts'
import type { FaultPage } from '../oauth/browser-middleware.ts'
import { messages } from './messages.ts'
import { languageOf, type Render } from './views.ts'

const require = createRequire(import.meta.url)

/** The page that shows a fault. */
export function faultPage(render: Render): FaultPage {
  return (ctx, { title, message }) => {
    const words = messages[languageOf(ctx)]
    return render(ctx, 'fault', { title: words.fault(title), message: words.fault(message) })
  }
}

/** Consent and fault pages, from the views. */
export function authorizationPages(render: Render): AuthorizationPages {
  return {
    consent: (ctx, view) =>
      render(ctx, 'consent', {
        view: {
          ...view,
          redirectHost: hostParts(view.redirectHost),
          mayNarrow: doesMoreThanRead(view.powers),
        },
      }),
    fault: faultPage(render),
  }
}

/** A host with the part that somebody registered set off: `login.bank.example` before `.evil.example` misleads nobody then. */
function hostParts(host: string): { before: string; domain: string; after: string } {
  // The list of all public suffixes is large: it is loaded for the first consent page.
  const { getDomain } = require('tldts') as typeof tldts
  const domain = getDomain(host, { allowPrivateDomains: true }) ?? ''
  const at = domain === '' ? host.length : host.lastIndexOf(domain)
  return { before: host.slice(0, at), domain, after: host.slice(at + domain.length) }
}

function doesMoreThanRead(powers: ConsentView['powers']): boolean {
  if (!powers) return false
  const { change, remark, delete: removed, others, programs } = powers
  return programs || change.length + remark.length + removed.length + others.length > 0
}
