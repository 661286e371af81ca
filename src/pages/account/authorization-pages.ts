/** The pages of the authorization endpoint. */
import { createRequire } from 'node:module'
import type * as tldts from 'tldts'
import type { AuthorizationPages } from '../../oauth/endpoints/authorization-endpoint.ts'
import { Remembered } from '#leaf/remembered.ts'
import { effects } from '../../core/effects.ts'
import type { Powers } from '../../core/powers.ts'
import type { ConsentView } from '../../oauth/endpoints/consent-endpoint.ts'
import { pages } from '../pages.ts'
import type { Render } from '#ui/pages.ts'
import { readerOf } from '../views.ts'

const require = createRequire(import.meta.url)

/** Makes the consent page from its view, and names the path of the sign-in page. */
export function authorizationPages(render: Render): AuthorizationPages {
  // Powers are the same object for all who have them, as long as the site stays: their list is most of the page.
  const lists = new Remembered<Powers, string>()
  return {
    consent: (ctx, view) => {
      const { powers } = view
      const list =
        powers && lists.of(powers, readerOf(ctx).language, () => render(ctx, 'powers-list', { powers }))
      const redirectHost = hostParts(view.redirectHost)
      const mayNarrow = doesMoreThanRead(powers)
      return render(ctx, pages.consent.view, { view: { ...view, redirectHost, mayNarrow, list } })
    },
    signIn: pages.signIn.path,
  }
}

/** Sets off the registered part of a host: then `login.bank.example` before `.evil.example` misleads nobody. */
function hostParts(host: string): { before: string; domain: string; after: string } {
  // The list of all public suffixes is large, so it is loaded for the first consent page.
  const { getDomain } = require('tldts') as typeof tldts
  const domain = getDomain(host, { allowPrivateDomains: true }) ?? ''
  const at = domain === '' ? host.length : host.lastIndexOf(domain)
  return { before: host.slice(0, at), domain, after: host.slice(at + domain.length) }
}

function doesMoreThanRead(powers: ConsentView['powers']): boolean {
  if (!powers) return false
  const { create, change, remark, delete: removed, others, programs } = powers
  if (powers.effects.some((name) => effects[name].category !== 'read_only')) return true
  return programs || create.length + change.length + remark.length + removed.length + others.length > 0
}
