/** A business role never touches the host: what a System Manager tries at /admin/files with nothing but a browser. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { operate, stream } from '../../src/cli/control.ts'
import { fileDigest } from '#site/read-site.ts'
import type { RunningService } from '../cli/running-service.ts'
import { atEnd, temporaryFolder } from '../helpers/daemon.ts'
import { administered, git, manager, send, signIn } from '../pages/administered.ts'

const settingsFile = 'config/settings.yaml'
const toolFile = 'config/tools/weather.yaml'
const sourcesFile = 'config/sources.yaml'
const tool = `type: http
tool: weather
description: The weather of a city at this moment, in degrees Celsius.
input: { type: object, properties: { city: { type: string, enum: [Bern] } } }
url: https://api.example.com/weather/{city}
query: { days: "2" }
headers: { X-Key_file: weather-key }
timeout_seconds: 5
roles: [Sales User]
`
const sources = `sources:
  warehouse: { type: postgres, host: db.example.com, database: warehouse, user: reader, password_file: warehouse }
`

/** A site in which System Managers edit, and somebody who is one. */
async function besieged(t: TestContext, files: Readonly<Record<string, string>> = {}) {
  const service = await administered(t, {
    edits: true,
    files: { [toolFile]: tool, [sourcesFile]: sources, ...files },
  })
  const browser = await signIn(service, manager)
  const textOf = (file: string): string => readFileSync(join(service.site, file), 'utf8')
  const save = async (file: string, text: string): Promise<{ status: number; html: string }> => {
    // Its own page is not needed, and that of the settings has no text to edit.
    const address = '/admin/files?file=config/users.yaml&edit=1'
    const hash = fileDigest(readFileSync(join(service.site, file)))
    return await send(service, browser, address, `/admin/files/save?file=${file}`, { text, hash })
  }
  return { service, browser, textOf, save }
}

type Besieged = Awaited<ReturnType<typeof besieged>>

/** The refusal of an edit, of which nothing is left but its line in the log, and which names a key at its line. */
async function refused(
  { service, textOf, save }: Besieged,
  file: string,
  text: string,
  { key, line }: { readonly key: string; readonly line: number },
): Promise<void> {
  const before = {
    text: textOf(file),
    head: git(service.site, 'rev-parse', 'HEAD'),
    edits: await edits(service),
  }
  const { digest } = service.daemon.services.site.state()
  const { status, html } = await save(file, text)
  const told = `${key} in ${file}`
  assert.equal(status, 400, told)
  assert.match(html, /because the host decides what was changed in it/, told)
  const escaped = key.replace(/[.[\]]/g, String.raw`\$&`)
  assert.match(html, new RegExp(`Line ${line} <code>${escaped}</code>: this is decided on the host`), told)
  assert.match(html, /<textarea/, 'what was typed is kept')
  assert.equal(textOf(file), before.text, told)
  assert.equal(git(service.site, 'rev-parse', 'HEAD'), before.head, told)
  assert.equal(git(service.site, 'status', '--porcelain'), '', told)
  assert.equal(service.daemon.services.site.state().digest, digest, told)
  const [event, ...others] = (await edits(service)).slice(before.edits.length)
  assert.deepEqual([event?.user, event?.status, others.length], [manager, 'error', 0], told)
  assert.ok(event?.error?.includes(`${file}: `) && event.error.includes(key), event?.error)
}

async function edits({ options }: RunningService) {
  const found: { user?: string; status: string; error?: string }[] = []
  for await (const line of stream(options, 'audit.search', { type: 'site.edit' })) found.push(line)
  return found
}

/** The line on which a text stands. */
function lineOf(text: string, part: string): number {
  const at = text.indexOf(part)
  assert.ok(at >= 0, part)
  return text.slice(0, at).split('\n').length
}

describe('a System Manager with a browser', () => {
  it('reads no file of the service through client_secret_file', async (t) => {
    const bodies: string[] = []
    const provider = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += chunk))
      request.on('end', () => {
        bodies.push(body)
        const issuer = `http://localhost:${(provider.address() as AddressInfo).port}`
        const endpoints = {
          authorization_endpoint: `${issuer}/a`,
          token_endpoint: `${issuer}/t`,
          jwks_uri: `${issuer}/j`,
        }
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ issuer, ...endpoints, response_types_supported: ['code'] }))
      })
    })
    await new Promise<void>((resolve) => provider.listen(0, 'localhost', resolve))
    atEnd(t, () => provider.close())
    const secret = 'secret-of-the-host'
    const at = await besieged(t)
    const secrets = join(at.service.daemon.services.folders.state, 'secrets')
    mkdirSync(secrets, { recursive: true })
    writeFileSync(join(secrets, secret), 'TOP-SECRET-OF-THE-HOST\n', { mode: 0o600 })
    const issuer = `http://localhost:${(provider.address() as AddressInfo).port}`
    const text = at
      .textOf(settingsFile)
      .replace(
        '  oidc: null',
        `  oidc:\n    issuer: ${issuer}\n    client_id: x\n    client_secret_file: ${secret}`,
      )
    const line = lineOf(text, `    client_secret_file: ${secret}`)
    await refused(at, settingsFile, text, { key: 'login.oidc.client_secret_file', line })
    const began = await fetch(`${at.service.url}/sign-in/oidc`, { redirect: 'manual' })
    assert.equal(began.status, 404)
    assert.deepEqual(bodies, [])
  })

  it('runs no command by making a tool an upstream server', async (t) => {
    const at = await besieged(t)
    const mark = join(temporaryFolder(t), 'was-here')
    const upstream = `upstream: weather\ntype: mcp\ncommand: [/bin/sh, -c, 'id > ${mark}']\n`
    await refused(at, toolFile, upstream, { key: 'command[0]', line: 3 })
    await at.service.daemon.services.reload('a test')
    assert.equal(existsSync(mark), false)
    assert.deepEqual(at.service.daemon.services.site.state().faults, [])
  })

  it('does not thin the audit log, and the attempt stands in it', async (t) => {
    const at = await besieged(t)
    const count = async (): Promise<number> => {
      const { ok, lines } = await operate(at.service.options, 'audit.verify', {})
      assert.equal(ok, true)
      return lines
    }
    const lines = await count()
    const text = at
      .textOf(settingsFile)
      .replace('max_total_bytes: 10737418240', 'max_total_bytes: 1')
      .replace('max_file_bytes: 67108864', 'max_file_bytes: 1')
    await refused(at, settingsFile, text, {
      key: 'audit.max_total_bytes',
      line: lineOf(text, '  max_total_bytes: 1\n'),
    })
    for (let n = 0; n < 10; n++) await at.browser.open(`${at.service.url}/admin/files?file=${settingsFile}`)
    assert.ok((await count()) > lines)
  })

  it('changes nothing else that is the host\u2019s, in whatever way it is written, and changes what is business', async (t) => {
    const at = await besieged(t, {
      // What the operator wrote: a business key with an anchor on which one of the host hangs.
      'config/tools/mail.yaml': `type: http
tool: mail
title: &name Mail
description: Sends a letter to somebody whom the operator knows.
input: { type: object }
url: https://mail.example.com/
headers: { X-From: *name }
`,
    })
    const settings = at.textOf(settingsFile)
    const changed = (from: string, to: string): string => {
      assert.ok(settings.includes(from), from)
      return settings.replace(from, () => to)
    }
    const tries: [file: string, text: string, key: string, part: string][] = [
      ...(
        [
          ['audit.retention_days', '  retention_days: 180', '  retention_days: 1'],
          ['audit.webhook', '  webhook: null', '  webhook: https://evil.example'],
          ['audit.syslog', '  syslog: null', '  syslog: udp://evil.example'],
          ['server.host', '  host: 127.0.0.1', '  host: 0.0.0.0'],
          ['server.trusted_proxies[0]', '  trusted_proxies: []', '  trusted_proxies: [0.0.0.0/0]'],
          ['oauth.skip_authorization', '  skip_authorization: false', '  skip_authorization: true'],
          ['oauth.egress_proxy', '  egress_proxy: null', '  egress_proxy: http://evil.example'],
          ['git.edit_in_browser', '  edit_in_browser: true', '  edit_in_browser: false'],
          ['site.git.url', '    url: null', '    url: file:///etc'],
          ['store.url_file', '  url_file: null', '  url_file: passwd'],
          ['secrets_folder', 'secrets_folder: null', 'secrets_folder: /etc'],
          ['analysis.python.interpreter', '    interpreter: /usr/bin/python3', '    interpreter: /bin/sh'],
          ['analysis.files.ocr_command[0]', '    ocr_command: []', '    ocr_command: [sh]'],
          ['tracing.otlp', '  otlp: null', '  otlp: https://evil.example'],
          ['metrics.listen', '  listen: null', '  listen: 0.0.0.0:9464'],
          ['rate_limits.token.points', '  token:\n    points: 300', '  token:\n    points: 300000'],
          // Left out, a key has its default, which another release may change.
          ['login.second_factor_roles', '  second_factor_roles: []\n', ''],
        ] as const
      ).map(([key, from, to]): [string, string, string, string] => [
        settingsFile,
        changed(from, to),
        key,
        to === '' ? 'login:\n' : to.trimStart().split('\n').at(-1)!.trimStart(),
      ]),
      // By an alias, and by a merge that the reader does not know.
      [
        settingsFile,
        changed('  support: null', '  support: &x evil@example.com').replace('  otlp: null', '  otlp: *x'),
        'tracing.otlp',
        '  otlp: *x',
      ],
      [
        settingsFile,
        `${changed('  level: info', '  level: &x debug')}x: &y { level: debug }\n<<: *y\n`,
        'log.level',
        '  level: &x debug',
      ],
      [
        'config/tools/mail.yaml',
        at.textOf('config/tools/mail.yaml').replace('&name Mail', '&name evil'),
        'headers.X-From',
        'headers:',
      ],
      [toolFile, tool.replace('api.example.com', 'evil.example'), 'url', 'url:'],
      [toolFile, tool.replace('weather-key', '/etc/shadow'), 'headers.X-Key_file', 'headers:'],
      [toolFile, tool.replace('weather-key', 'audit-key'), 'headers.X-Key_file', 'headers:'],
      [toolFile, tool.replace(', enum: [Bern]', ''), 'input.properties.city.enum[0]', 'input:'],
      [toolFile, `${tool}allow_private: true\n`, 'allow_private', 'allow_private'],
      [toolFile, tool.replace('query: { days: "2" }\n', ''), 'query.days', 'type: http'],
      [toolFile, '# nothing\n', 'url', '# nothing'],
      [
        toolFile,
        tool
          .replace('type: http', 'type: sql')
          .replace(/url:.*\nquery:.*\nheaders:.*\n/, 'source: warehouse\nsql: SELECT 1\n'),
        'sql',
        'sql: SELECT',
      ],
      [
        sourcesFile,
        sources.replace('db.example.com', 'evil.example'),
        'sources.warehouse.host',
        '  warehouse:',
      ],
      [
        'config/tools.yaml',
        `${at.textOf('config/tools.yaml')}\n  list_skills: { redact: [a] }\n`,
        'tools.list_skills.redact[0]',
        '  list_skills: {',
      ],
    ]
    for (const [file, text, key, part] of tries)
      await refused(at, file, text, { key, line: lineOf(text, part) })

    const description = 'The weather of a city today, in whole degrees.'
    const wanted: [file: string, text: string][] = [
      [settingsFile, changed('  support: null', '  support: help@example.com')],
      [
        toolFile,
        tool.replace(/description: .*/, `description: ${description}`).replace('Sales User', 'HR User'),
      ],
    ]
    for (const [file, text] of wanted) {
      const { html } = await at.save(file, text)
      assert.match(html, /The file was saved and committed/, file)
      assert.equal(at.textOf(file), text)
    }
    const { settings: now, tools } = at.service.daemon.services.site.current()
    assert.equal(now.company.support, 'help@example.com')
    assert.equal(tools.find(({ name }) => name === 'weather')?.description, description)
    assert.deepEqual(
      (await edits(at.service)).slice(-2).map(({ status }) => status),
      ['ok', 'ok'],
    )
  })
})
