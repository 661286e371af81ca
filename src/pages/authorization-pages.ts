/** The pages that the authorization endpoint shows. */
import type { AuthorizationPages } from '../oauth/authorization-endpoint.ts'
import type { FaultPage } from '../oauth/browser-middleware.ts'
import type { Render } from './views.ts'

/** The page that shows a fault. */
export function faultPage(render: Render): FaultPage {
  return (fault) => render('fault', fault)
}

/** Consent and fault pages, from the views. */
export function authorizationPages(render: Render): AuthorizationPages {
  return { consent: (view) => render('consent', { view }), fault: faultPage(render) }
}
