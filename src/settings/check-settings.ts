/** Checks of settings beyond JSON Schema: values that must mean something, and combinations to warn of. */
import { isLocal, isNetwork, isOrigin, noOrigin } from '#leaf/address.ts'
import { accentContrast, readableContrast } from './contrast.ts'
import { dangerousScheme } from '../core/oauth-settings.ts'
import { linesOf, type Settings } from '../core/settings.ts'

/** Reports a setting by its path, with what is wrong with it or what to reconsider. */
export type ReportSetting = (path: readonly (string | number)[], message: string) => void

/** Reports every value that has the right type and yet cannot work. */
export function checkSettings(settings: Settings, fault: ReportSetting): void {
  const { server, oauth, store, public_url: publicUrl } = settings
  if (store.kind === 'postgres' && store.url_file === null) {
    fault(['store', 'kind'], 'postgres needs store.url_file, a file with the address of the database')
  }
  if (publicUrl !== null && !isOrigin(publicUrl.replace(/\/$/, ''))) {
    fault(['public_url'], `"${publicUrl}" ${noOrigin}`)
  }
  each(server.allowed_hosts, ['server', 'allowed_hosts'], fault, (value) =>
    /^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?$/.test(value) ? undefined : 'is not a host name',
  )
  each(server.allowed_origins, ['server', 'allowed_origins'], fault, originProblem)
  each(oauth.allowed_public_client_origins, ['oauth', 'allowed_public_client_origins'], fault, originProblem)
  const { exempt_addresses: exempt } = settings.rate_limits
  each(server.trusted_proxies, ['server', 'trusted_proxies'], fault, networkProblem)
  each(exempt, ['rate_limits', 'exempt_addresses'], fault, networkProblem)
  // RFC 6749 §3.3: the characters that a scope may have.
  each(oauth.supported_scopes, ['oauth', 'supported_scopes'], fault, (value) =>
    /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value)
      ? undefined
      : 'is not a scope: no spaces, quotes or backslashes',
  )
  each(oauth.native_redirect_schemes, ['oauth', 'native_redirect_schemes'], fault, schemeProblem)
  const { documentation_url, policy_uri, terms_of_service_uri } = oauth
  const { syslog, webhook } = settings.audit
  const addresses = {
    oauth: { documentation_url, policy_uri, terms_of_service_uri },
    audit: { syslog, webhook },
    tracing: { otlp: settings.tracing.otlp },
  }
  for (const [section, values] of Object.entries(addresses))
    for (const [key, value] of Object.entries(values))
      if (value !== null && !URL.canParse(value)) fault([section, key], `"${value}" is not a web address`)
  const { listen } = settings.metrics
  if (listen !== null && !URL.canParse(`http://${listen}`))
    fault(['metrics', 'listen'], `"${listen}" is not HOST:PORT: ports end at 65535`)
  const accent = settings.company.accent_color
  if (accent !== null && accentContrast(accent) < readableContrast) {
    const contrast = accentContrast(accent).toFixed(1)
    const wanted = `links and buttons need ${readableContrast}; choose a darker one`
    fault(['company', 'accent_color'], `"${accent}" has a contrast of ${contrast} to the page; ${wanted}`)
  }
  for (const key of ['commit', 'edit_in_browser'] as const)
    if (settings.git[key] && settings.site.git.url !== null)
      fault(['git', key], 'commits made here would reach no other daemon: the site is pulled (site.git)')
  const oidc = settings.login.oidc
  if (oidc && !isSecureUrl(oidc.issuer)) {
    fault(['login', 'oidc', 'issuer'], 'must use https, except on localhost')
  }
  if (!settings.login.passwords && !oidc) {
    fault(['login', 'passwords'], 'nobody could sign in: passwords are off and there is no oidc')
  }
}

/** Reports every setting that works and is dangerous outside a test. */
export function warnOfSettings(settings: Settings, warn: ReportSetting): void {
  const { server, oauth, audit, public_url: publicUrl } = settings
  if (audit.retention_days > 0 && audit.retention_days < 30) {
    warn(['audit', 'retention_days'], 'counts as 30: younger events are never removed')
  }
  if (oauth.skip_authorization) {
    warn(['oauth', 'skip_authorization'], 'users are not asked for consent; for tests only')
  }
  if (oauth.developer_mode) {
    warn(['oauth', 'developer_mode'], 'clients may register http addresses on any host; for tests only')
  }
  if (linesOf(oauth.allowed_public_client_origins).includes('*')) {
    warn(
      ['oauth', 'allowed_public_client_origins'],
      'scripts of every web page may call the service with a token they hold',
    )
  }
  if (publicUrl !== null && !isSecureUrl(publicUrl)) {
    warn(['public_url'], 'passwords and tokens travel unencrypted; use https')
  }
  if (publicUrl === null && !isLocal(server.host)) {
    warn(
      ['public_url'],
      `the service listens on ${server.host} but publishes localhost addresses; set public_url`,
    )
  }
  if (!settings.rate_limits.enabled) {
    warn(['rate_limits', 'enabled'], 'passwords and tokens can be guessed without limit')
  }
}

function each(
  value: string | readonly string[],
  path: readonly string[],
  fault: ReportSetting,
  problem: (value: string) => string | undefined,
): void {
  const list = linesOf(value)
  for (const item of list) {
    const index = typeof value === 'string' ? -1 : value.findIndex((entry) => entry.trim() === item)
    const message = problem(item)
    if (message) fault(index < 0 ? path : [...path, index], `${JSON.stringify(item)} ${message}`)
  }
}

function networkProblem(value: string): string | undefined {
  return isNetwork(value) ? undefined : 'is not an IP address or a range such as 10.0.0.0/8'
}

function originProblem(value: string): string | undefined {
  if (value === '*' || isOrigin(value)) return undefined
  return 'is not an origin such as https://app.example.com (no path, lower case), nor "*"'
}

function schemeProblem(value: string): string | undefined {
  // RFC 3986 §3.1.
  if (!/^[a-z][a-z0-9+.-]*$/.test(value)) return 'is not a URI scheme in lower case, without ":"'
  return dangerousScheme.test(value) || /^https?$/.test(value)
    ? 'is not a scheme that belongs to one application'
    : undefined
}

function isSecureUrl(value: string): boolean {
  if (!URL.canParse(value)) return false
  const url = new URL(value)
  return url.protocol === 'https:' || isLocal(url.hostname)
}
