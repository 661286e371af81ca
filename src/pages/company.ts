/** The company's own parts of every page: its logo, its colour, its support contact, its legal links. */
import { darkAccent } from '../settings/contrast.ts'
import { ownFile } from '#ui/pages.ts'
import { sha256 } from '#leaf/secrets.ts'
import type { Settings } from '../core/settings.ts'
import { pages } from './pages.ts'

const sheet = ownFile('pages.css')

/** Returns the company data for the layout. */
export function companyOf(settings: Pick<Settings, 'company' | 'oauth'>): Record<string, unknown> {
  const { company, oauth } = settings
  const { support, logo, legal_links: links } = company
  const own = links.map(({ label, url }) => ({ label, url, name: '' }))
  const known = [
    { name: 'layout.privacy', url: oauth.policy_uri, label: '' },
    { name: 'layout.terms', url: oauth.terms_of_service_uri, label: '' },
  ].filter(({ url }) => url !== null)
  return {
    logo: logo === null ? '' : pages.logo.path,
    // Browsers cache the stylesheet, so another one needs another address.
    stylesheet: `${pages.stylesheet.path}?${sha256(stylesheetOf(settings)).slice(0, 8)}`,
    support: support ?? '',
    supportUrl: support === null ? '' : support.includes('://') ? support : `mailto:${support}`,
    links: [...known, ...own],
  }
}

/** Returns the stylesheet of every page, in the company's colour. */
export function stylesheetOf({ company }: Pick<Settings, 'company'>): string {
  const accent = company.accent_color
  if (accent === null) return sheet
  const rule = (colour: string, on: string): string => `:root { --accent: ${colour}; --on-accent: ${on}; }`
  return `${sheet}${rule(accent, '#ffffff')}\n@media (prefers-color-scheme: dark) { ${rule(darkAccent(accent), '#0d1420')} }\n`
}
