/** The company's own on every page: its mark, its colour, whom to ask, what the law wants told. */
import { darkAccent } from '../core/contrast.ts'
import { sha256 } from '../core/secrets.ts'
import type { Settings } from '../core/settings.ts'
import { paths } from '../oauth/urls.ts'

/** Where the company's logo is served, when it has one. */
export const logoPath = '/assets/logo'

/** What the layout shows of the company. */
export function companyOf({ company, oauth }: Pick<Settings, 'company' | 'oauth'>): Record<string, unknown> {
  const { support, logo, legal_links: links } = company
  const own = links.map(({ label, url }) => ({ label, url, name: '' }))
  const known = [
    { name: 'layout.privacy', url: oauth.policy_uri, label: '' },
    { name: 'layout.terms', url: oauth.terms_of_service_uri, label: '' },
  ].filter(({ url }) => url !== null)
  return {
    logo: logo === null ? '' : logoPath,
    // Browsers keep the stylesheet; another colour is another address.
    stylesheet: `${paths.stylesheet}?${sha256(company.accent_color ?? '').slice(0, 8)}`,
    support: support ?? '',
    supportUrl: support === null ? '' : support.includes('://') ? support : `mailto:${support}`,
    links: [...known, ...own],
  }
}

/** The rules that put the company's colour in the place of ours. */
export function accentRules({ company }: Pick<Settings, 'company'>): string {
  const accent = company.accent_color
  if (accent === null) return ''
  const rule = (colour: string, on: string): string => `:root { --accent: ${colour}; --on-accent: ${on}; }`
  return `${rule(accent, '#ffffff')}\n@media (prefers-color-scheme: dark) { ${rule(darkAccent(accent), '#0d1420')} }\n`
}
