import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, it } from 'node:test'
import { settingsSchema } from '../../src/core/settings.ts'
import { parseSource } from '#site/parse-source.ts'
import { defaultSettings, readSettings } from '../../src/settings/read-settings.ts'
import { faultText, type Fault, type SiteFiles } from '#site/site-files.ts'

const shipped = readFileSync(resolve(import.meta.dirname, '../../config/settings.yaml'), 'utf8')

function filesOf(text: string | undefined): SiteFiles {
  const path = 'config/settings.yaml'
  const parsed = text === undefined ? { faults: [] } : parseSource(path, Buffer.from(text))
  const documents = new Map(parsed.document ? [[path, parsed.document]] : [])
  return { folder: '/site', documents, assets: new Map(), faults: parsed.faults, digest: '' }
}

function read(text: string | undefined) {
  const faults: Fault[] = []
  const warnings: Fault[] = []
  const settings = readSettings(filesOf(text), faults, warnings)
  return { settings, faults: faults.map(faultText), warnings: warnings.map(faultText) }
}

type Schema = {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly default?: unknown
}

/** Every key of the schema by path, with its default; what is null or a free map by default is one value. */
function defaultsOf(schema: Schema, path: readonly string[] = []): [string, unknown][] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, child]): [string, unknown][] => {
    const here = [...path, key]
    return child.properties && child.default !== null
      ? defaultsOf(child, here)
      : [[here.join('.'), valueAt(defaultSettings(), here)]]
  })
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value)
}

describe('the shipped settings', () => {
  it('have no fault and cause no warning', () => {
    const { faults, warnings } = read(shipped)
    assert.deepEqual([faults, warnings], [[], []])
  })

  it('show every setting with its default', () => {
    const data = parseSource('config/settings.yaml', Buffer.from(shipped)).document?.data
    const defaults = defaultsOf(settingsSchema)
    assert.ok(defaults.length > 60)
    for (const [path, value] of defaults) {
      const shown = valueAt(data, path.split('.'))
      assert.notEqual(shown, undefined, `config/settings.yaml lacks ${path}`)
      assert.deepEqual(shown, value, `config/settings.yaml does not show the default of ${path}`)
    }
  })

  it('explain every setting in a comment above it, or above the group it stands in', () => {
    const lines = shipped.split('\n')
    for (const [index, line] of lines.entries()) {
      if (!/^\s*[a-z_]+:/.test(line)) continue
      const indent = /^\s*/.exec(line)![0]
      let above = index - 1
      while (above >= 0 && new RegExp(`^${indent}[a-z_]+:`).test(lines[above]!)) above--
      const opensSection = /^[a-z_]+:$/.test(line)
      const parentIsExplained = indent.length >= 4
      assert.ok(
        opensSection || parentIsExplained || /^\s*#/.test(lines[above] ?? ''),
        `config/settings.yaml:${index + 1} has no comment: ${line}`,
      )
    }
  })
})

describe('reading settings', () => {
  it('fills in defaults', () => {
    const { settings, faults } = read('server:\n  port: 9000\n')
    assert.deepEqual(faults, [])
    assert.equal(settings.server.port, 9000)
    assert.equal(settings.server.host, '127.0.0.1')
    assert.deepEqual(settings.rate_limits, defaultSettings().rate_limits)
    assert.deepEqual(read('').settings, defaultSettings())
  })

  it('does not carry a default or an edit from one reading into the next', () => {
    const files = filesOf('server:\n  port: 9000\n')
    const first = readSettings(files, [], [])
    ;(first.server as { port: number }).port = 1
    assert.equal(readSettings(files, [], []).server.port, 9000)
    assert.deepEqual(files.documents.get('config/settings.yaml')?.data, { server: { port: 9000 } })
  })

  it('holds lists as lists, whether written as lists or one value a line', () => {
    const { settings, faults } = read(
      'oauth:\n  allowed_public_client_origins: |\n    https://a.example\n\n    https://b.example\n    https://a.example\n  supported_scopes: [all, openid]\n',
    )
    assert.deepEqual(faults, [])
    assert.deepEqual(settings.oauth.allowed_public_client_origins, ['https://a.example', 'https://b.example'])
    assert.deepEqual(settings.oauth.supported_scopes, ['all', 'openid'])
  })

  it('takes text for the lists for which the manual says so, and for no other', () => {
    const manual = shipped.split('\n').find((line) => line.includes('one value a line'))!
    assert.ok(manual.startsWith('# * A list of'))
    const named = [...manual.matchAll(/(\w+)(?=,| or| may be)/g)].map(([word]) => word)
    for (const [path, value] of defaultsOf(settingsSchema).filter(([, value]) => Array.isArray(value))) {
      const [section, ...keys] = path.split('.')
      const inner = keys.toReversed().reduce((data, key) => `{${key}: ${data}}`, '""')
      const isTaken = read(`${section}: ${inner}\n`).faults.length === 0
      assert.equal(isTaken, named.includes(path.split(/[._]/).at(-1)!), `${path} ${String(value)}`)
    }
  })

  it('reports every fault at once, each at its place', () => {
    const { faults } = read(
      [
        'version: 2',
        'servr:',
        '  port: 1',
        'server:',
        '  port: "80"',
        '  prot: 80',
        'oauth:',
        '  access_token_seconds: 0',
        '  enable_dynamic_client_registration: maybe',
        'log: {level: loud}',
        '',
      ].join('\n'),
    )
    assert.deepEqual(faults.sort(), [
      'config/settings.yaml:10:14 log.level: must be one of "debug", "info", "warn", "error" or "silent", not "loud"',
      'config/settings.yaml:2:1 servr: unknown key; did you mean "server"?',
      'config/settings.yaml:5:9 server.port: must be integer, not string',
      'config/settings.yaml:6:3 server.prot: unknown key; did you mean "port"?',
      'config/settings.yaml:8:25 oauth.access_token_seconds: must be >= 1',
      'config/settings.yaml:9:39 oauth.enable_dynamic_client_registration: must be boolean, not string',
    ])
  })

  it('places what is missing at the map around it', () => {
    const { faults } = read('login:\n  oidc:\n    issuer: https://login.example.com\n')
    assert.deepEqual(faults, [
      'config/settings.yaml:2:3 login.oidc: "client_id" is required',
      'config/settings.yaml:2:3 login.oidc: "client_secret_file" is required',
    ])
  })

  it('refuses values that have the right type and cannot work', () => {
    const { faults } = read(
      [
        'public_url: https://AI.example.com',
        'server:',
        '  allowed_hosts: [good.example, "bad host"]',
        '  trusted_proxies: [10.0.0.0/8, 10.0.0.0/33, proxy.example]',
        // Every request would be refused.
        'rate_limits: { exempt_addresses: [localhost] }',
        'oauth:',
        '  allowed_public_client_origins: ["https://a.example/path", "null", "*"]',
        '  native_redirect_schemes: [cursor, javascript, "Claude:"]',
        '  supported_scopes: |',
        '    all',
        '    a"b',
        'login:',
        '  passwords: false',
        // A start, or a change of the settings, would end in an error of the program.
        'audit: { syslog: "udp://log.example.com:99999", webhook: "https://" }',
        'tracing: { otlp: "https://" }',
        'metrics: { listen: "127.0.0.1:99999" }',
        '',
      ].join('\n'),
    )
    assert.deepEqual(
      faults.sort(),
      [
        'config/settings.yaml:14:18 audit.syslog: "udp://log.example.com:99999" is not a web address',
        'config/settings.yaml:14:58 audit.webhook: "https://" is not a web address',
        'config/settings.yaml:15:18 tracing.otlp: "https://" is not a web address',
        'config/settings.yaml:16:20 metrics.listen: "127.0.0.1:99999" is not HOST:PORT: ports end at 65535',
        'config/settings.yaml:1:13 public_url: "https://AI.example.com" is not scheme, host and port of a web address in lower case',
        'config/settings.yaml:3:33 server.allowed_hosts[1]: "bad host" is not a host name',
        'config/settings.yaml:4:33 server.trusted_proxies[1]: "10.0.0.0/33" is not an IP address or a range such as 10.0.0.0/8',
        'config/settings.yaml:4:46 server.trusted_proxies[2]: "proxy.example" is not an IP address or a range such as 10.0.0.0/8',
        'config/settings.yaml:5:35 rate_limits.exempt_addresses[0]: "localhost" is not an IP address or a range such as 10.0.0.0/8',
        'config/settings.yaml:7:35 oauth.allowed_public_client_origins[0]: "https://a.example/path" is not an origin such as https://app.example.com (no path, lower case), nor "*"',
        'config/settings.yaml:7:61 oauth.allowed_public_client_origins[1]: "null" is not an origin such as https://app.example.com (no path, lower case), nor "*"',
        'config/settings.yaml:9:21 oauth.supported_scopes: "a\\"b" is not a scope: no spaces, quotes or backslashes',
        'config/settings.yaml:8:37 oauth.native_redirect_schemes[1]: "javascript" is not a scheme that belongs to one application',
        'config/settings.yaml:8:49 oauth.native_redirect_schemes[2]: "Claude:" is not a URI scheme in lower case, without ":"',
        'config/settings.yaml:13:14 login.passwords: nobody could sign in: passwords are off and there is no oidc',
      ].sort(),
    )
  })

  it('warns of settings that are dangerous outside a test', () => {
    const { warnings, faults } = read(
      'public_url: http://ai.example.com\noauth:\n  skip_authorization: true\n  developer_mode: true\n  allowed_public_client_origins: "*"\nrate_limits:\n  enabled: false\n',
    )
    assert.deepEqual(faults, [])
    assert.deepEqual(
      warnings.map((text) => text.split(': ')[0]),
      [
        'config/settings.yaml:3:23 oauth.skip_authorization',
        'config/settings.yaml:4:19 oauth.developer_mode',
        'config/settings.yaml:5:34 oauth.allowed_public_client_origins',
        'config/settings.yaml:1:13 public_url',
        'config/settings.yaml:7:12 rate_limits.enabled',
      ],
    )
    assert.deepEqual(read('public_url: http://localhost:9000\n').warnings, [])
    assert.match(
      read('server: {host: 0.0.0.0}\n').warnings[0] ?? '',
      /public_url: the service listens on 0\.0\.0\.0/,
    )
  })

  it('warns of a setting that nothing answers to any more, and goes on without it', () => {
    const { settings, faults, warnings } = read(
      'public_url: http://localhost:9000\nanalysis:\n  python:\n    spares: 2\n    memory_mb: 100\n',
    )
    assert.deepEqual(faults, [])
    assert.deepEqual(warnings, [
      'config/settings.yaml:4:5 analysis.python.spares: has no effect any more; remove it',
    ])
    assert.deepEqual([settings.analysis.python.memory_mb, 'spares' in settings.analysis.python], [100, false])
  })

  it('refuses settings of a newer release before anything else in them', () => {
    assert.deepEqual(read('version: 3\nbrand_new: true\n').faults, [
      'config/settings.yaml:1:10 version: was written for a newer release; this one reads up to version 2',
    ])
  })

  it('refuses a missing file, a list, and a file that did not parse only once', () => {
    assert.deepEqual(read(undefined).faults, ['config/settings.yaml:1:1 there is no such file'])
    assert.deepEqual(read('- a\n').faults, ['config/settings.yaml:1:1 must be a map of settings'])
    assert.deepEqual(read('a: [\n').faults, [])
  })
})

describe('settings in the layout before version 2', () => {
  const old = [
    '# ours',
    'assistant_core_settings:',
    '  enable_dynamic_client_registration: 0',
    '  allowed_public_client_origins: |',
    '    https://a.example',
    '    https://b.example',
    '  show_authorization_server_metadata: 1',
    '  show_protected_resource_metadata: true',
    '  resource_name: Ours',
    '  documentation_url: https://docs.example',
    "  policy_uri: ''",
    '  terms_of_service_uri:',
    '  supported_scopes: "all\\nopenid"',
    '  skip_authorization: false',
    '  audit_log_retention_days: 90',
    '  server_enabled: 1',
    '  mcp_server_name: ours',
    '  skill_mode: replace',
    '  max_memory_mb: 512',
    '',
  ].join('\n')

  it('are read as the settings of today, with a warning', () => {
    const { settings, faults, warnings } = read(old)
    assert.deepEqual(faults, [])
    assert.deepEqual(warnings, [
      'config/settings.yaml:2:1 assistant_core_settings: the layout before version 2; run "assistant-core migrate"',
      'config/settings.yaml:19:3 assistant_core_settings.max_memory_mb: has no effect any more',
    ])
    const expected = defaultSettings()
    assert.deepEqual(settings, {
      ...expected,
      oauth: {
        ...expected.oauth,
        enable_dynamic_client_registration: false,
        allowed_public_client_origins: ['https://a.example', 'https://b.example'],
        resource_name: 'Ours',
        documentation_url: 'https://docs.example',
        supported_scopes: ['all', 'openid'],
      },
      server: { ...expected.server, name: 'ours' },
      mcp: { ...expected.mcp, skill_mode: 'replace' },
      audit: { ...expected.audit, retention_days: 90 },
    })
  })

  it('have their faults where they stand', () => {
    const { faults } = read(
      [
        'assistant_core_settings:',
        '  enable_dynamic_client_registration: 2',
        '  skip_authorisation: 1',
        '  documentation_url: docs.example',
        '  allowed_public_client_origins: [https://a.example/x]',
        '  supported_scopes: 7',
        '  resource_name: A',
        'oauth:',
        '  resource_name: B',
        '',
      ].join('\n'),
    )
    assert.deepEqual(faults, [
      'config/settings.yaml:2:39 assistant_core_settings.enable_dynamic_client_registration: must be 0, 1, true or false, not 2',
      'config/settings.yaml:3:3 assistant_core_settings.skip_authorisation: unknown key; did you mean "skip_authorization"?',
      'config/settings.yaml:6:21 assistant_core_settings.supported_scopes: must be text with one value a line',
      'config/settings.yaml:7:3 assistant_core_settings.resource_name: is given again as oauth.resource_name; remove one of them',
      'config/settings.yaml:4:22 assistant_core_settings.documentation_url: must be an address that begins with https:// or http://, not "docs.example"',
    ])
    const later = read('assistant_core_settings:\n  allowed_public_client_origins: [https://a.example/x]\n')
    assert.match(
      later.faults[0]!,
      /^config\/settings\.yaml:2:35 assistant_core_settings\.allowed_public_client_origins\[0\]: /,
    )
  })

  it('warn of a version before 2 without the section', () => {
    assert.deepEqual(read('version: 1\n').warnings, [
      'config/settings.yaml:1:10 version: an older layout; run "assistant-core migrate"',
    ])
  })
})
