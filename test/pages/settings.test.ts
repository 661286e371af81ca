/** The settings in the browser: changed by a System Manager in the one form, and only what is business. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseDocument } from 'yaml'
import { operate } from '../../src/cli/control.ts'
import { everySetting, shownSetting, writeSettings } from '../../src/pages/admin/setting-fields.ts'
import { mostRows } from '#ui/forms.ts'
import { type Browser, fieldsOn, type Page } from '../helpers/browser.ts'
import { administered, assistantAdmin, audited, git, manager, page, signIn } from './administered.ts'

const at = '/admin/settings'
const save = `${at}/save`
const german = { headers: { 'accept-language': 'de' } }

describe('the settings of a site in the browser', () => {
  const ends: (() => unknown)[] = []
  let service: Awaited<ReturnType<typeof administered>>
  before(async () => {
    const after = (end: () => unknown): void => void ends.push(end)
    service = await administered({ after } as never, { edits: true })
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const place = (): string => join(service.site, 'config/settings.yaml')
  const file = (): string => readFileSync(place(), 'utf8')
  const open = async (browser: Browser, path = at, ask?: RequestInit): Promise<Page> =>
    page(await browser.open(service.url + path, ask))
  /** The lines that are not in another text. */
  const more = (text: string, other: string): string[] =>
    text.split('\n').filter((line) => !other.split('\n').includes(line))
  /** Sends the form of a page as a browser of another language does, or with what does not stand in it. */
  const sent = async (who: Browser, from: Page, values: Readonly<Record<string, string>>, more = {}) => {
    const body = fieldsOn(from, save)
    for (const [name, value] of Object.entries(values)) body.set(name, value)
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: service.url, ...more }
    return page(await who.open(service.url + save, { method: 'POST', headers, body }))
  }
  const head = (): string => git(service.site, 'rev-parse', 'HEAD')

  it('are fields by their types, with help, default and value; what the host decides is text', async () => {
    const browser = await signIn(service, manager)
    const shown = await open(browser)
    const fields = fieldsOn(shown, save)
    const all = everySetting()
    for (const { path, isBusiness } of all) {
      const name = path.join('.')
      const isThere = [...fields.keys()].some((key) => key === `f.${name}` || key.startsWith(`f.${name}.`))
      const isBox = shown.html.includes(`type="checkbox" id="f-${name.replaceAll('.', '-')}"`)
      assert.equal(isThere || isBox, isBusiness, name)
      if (!isBusiness) assert.ok(shown.html.includes(`<th scope="row"><code>${name}</code></th>`), name)
    }
    assert.equal(fields.get('f.mcp.page_size'), '100')
    assert.match(shown.html, /<select id="f-mcp-skill_mode"[^>]*><option selected>supplementary/)
    assert.match(shown.html, /<textarea id="f-mcp-instructions"/)
    assert.match(shown.html, /Entries in one page of a list, at most 1000\.[^<]* Default: 100\./)
    assert.match(shown.html, /<code>server\.port<\/code><\/th><td><code>\d/)
    assert.match(shown.html, /Whoever runs the host decides these, in <a href="\/admin\/files\?file=config/)
    const files = await open(browser, '/admin/files?file=config/settings.yaml&edit=1')
    assert.doesNotMatch(files.html, /<textarea/, 'there is one form for them')
    assert.match(files.html, new RegExp(`class="button" href="${at}"`))
  })

  it('are written where they stand, each with its kind of value, and the rest stays as it is', async () => {
    const browser = await signIn(service, manager)
    const first = file()
    const links = 'f.company.legal_links'
    const saved = page(
      await browser.fill(await open(browser), save, {
        'f.company.accent_color': '#7a1f5c',
        'f.mcp.page_size': '1,000',
        'f.mcp.skill_tools': null,
        'f.mcp.skill_mode': 'replace',
        'f.mcp.instructions': 'Be brief.\r\nAsk "first": # please',
        'f.oauth.documentation_url': '',
        'f.documents.currency': 'EUR',
        [`${links}.0.label`]: 'Imprint: ours',
        [`${links}.0.url`]: 'https://example.com/imprint',
      }),
    )
    assert.equal(new URL(saved.url).search, '?done=save', saved.html)
    assert.deepEqual(more(file(), first), [
      '  accent_color: "#7a1f5c"',
      '  legal_links:',
      '    - label: "Imprint: ours"',
      '      url: https://example.com/imprint',
      '  documentation_url: null',
      '  instructions: |-',
      '    Be brief.',
      '    Ask "first": # please',
      '  page_size: 1000',
      '  skill_tools: false',
      '  skill_mode: replace',
      '  currency: EUR',
    ])
    assert.deepEqual(
      more(first, file()).filter((line) => line.trim().startsWith('#')),
      [],
      'comments stay',
    )
    assert.match(
      git(service.site, 'log', '-1', '--format=%ae %s'),
      /^admin@example.com config\/settings.yaml/,
    )
    assert.equal(service.daemon.services.settings().mcp.page_size, 1000)
    assert.match((await open(browser)).html, /<a href="https:\/\/example.com\/imprint"[^>]*>Imprint: ours/)
    // A row is changed and another added; what is blank becomes what it usually is.
    const again = await open(browser)
    await browser.fill(again, save, {
      [`${links}.0.label`]: 'Imprint',
      [`${links}.1.label`]: 'Help',
      [`${links}.1.url`]: 'https://example.com/help',
      'f.mcp.page_size': '',
      'f.mcp.skill_tools': 'true',
    })
    const { company, mcp } = service.daemon.services.settings()
    assert.deepEqual(company.legal_links, [
      { label: 'Imprint', url: 'https://example.com/imprint' },
      { label: 'Help', url: 'https://example.com/help' },
    ])
    assert.deepEqual([mcp.page_size, mcp.skill_tools], [100, true])
    await browser.fill(await open(browser), save, { [`${links}.0._delete`]: '1' })
    assert.deepEqual(
      service.daemon.services.settings().company.legal_links.map(({ label }) => label),
      ['Help'],
    )
    const channels = 'f.library.channels.0'
    const branched = page(
      await browser.fill(await open(browser), save, {
        [`${channels}.role`]: 'Assistant Admin',
        [`${channels}.branch`]: git(service.site, 'branch', '--show-current').trim(),
      }),
    )
    assert.equal(new URL(branched.url).search, '?done=save', branched.html)
    assert.deepEqual(Object.keys(service.daemon.services.settings().library.channels), ['Assistant Admin'])
  })

  it('that are not there yet are added to a file of few lines, with its own comments and line ends', async () => {
    const browser = await signIn(service, manager)
    const whole = file()
    const own = 'git:   # ours\r\n  edit_in_browser: true\r\nmcp:\r\ncompany: { logo: null } # later\r\n'
    writeFileSync(place(), own)
    git(service.site, 'commit', '-qam', 'few')
    const saved = page(
      await browser.fill(await open(browser), save, {
        'f.mcp.page_size': '50',
        'f.company.support': 'help@example.com',
        'f.documents.currency': 'CHF',
      }),
    )
    assert.equal(new URL(saved.url).search, '?done=save', saved.html)
    const { mcp, company, documents } = service.daemon.services.settings()
    assert.deepEqual([mcp.page_size, company.support, documents.currency], [50, 'help@example.com', 'CHF'])
    for (const part of ['# ours\r\n', '# later\r\n', 'page_size: 50\r\n'])
      assert.ok(file().includes(part), part)
    assert.doesNotMatch(file(), /[^\r]\n/, 'no line ends otherwise')
    writeFileSync(place(), whole)
    git(service.site, 'commit', '-qam', 'whole')
    await operate(service.options, 'site.reload', {})
  })

  it('say at their fields what is wrong, in the language of who reads, and keep what was typed', async () => {
    const browser = await signIn(service, manager)
    const [first, commit, told] = [file(), head(), await audited(service, 'site.edit')]
    const wrong = await sent(
      browser,
      await open(browser, at, german),
      {
        'f.company.accent_color': 'gold "x"',
        'f.mcp.page_size': 'many',
        'f.company.support': 'nobody',
        'f.company.logo': 'config/none.png',
        'f.mcp.instructions': 'kept',
      },
      german.headers,
    )
    assert.equal(wrong.status, 400)
    for (const [name, said] of [
      ['company-accent_color', /muss eine Farbe wie/],
      ['mcp-page_size', /keine ganze Zahl/],
      ['company-support', /muss eine E-Mail-Adresse/],
    ] as const) {
      const [, problem = ''] =
        new RegExp(`id="f-${name}-about"[^>]*><span class="fault">([^<]*)`).exec(wrong.html) ?? []
      assert.match(problem, said)
    }
    const kept = fieldsOn(wrong, save)
    assert.deepEqual(
      ['company.accent_color', 'mcp.page_size', 'company.support', 'mcp.instructions'].map((name) =>
        kept.get(`f.${name}`),
      ),
      ['gold "x"', 'many', 'nobody', 'kept'],
    )
    const logo = page(
      await browser.fill(wrong, save, {
        'f.company.accent_color': '#ffee00',
        'f.mcp.page_size': '2000',
        'f.company.support': '',
      }),
    )
    assert.match(logo.html, /id="f-mcp-page_size-about"[^>]*><span class="fault">[^<]*1000/)
    const last = page(await browser.fill(logo, save, { 'f.mcp.page_size': '100' }))
    assert.match(
      last.html,
      /id="f-company-accent_color-about"[^>]*><span class="fault">[^<]*contrast of 1\.\d/,
    )
    assert.match(
      page(await browser.fill(last, save, { 'f.company.accent_color': '' })).html,
      /id="f-company-logo-about"[^>]*><span class="fault">there is no file config\/none\.png/,
    )
    assert.deepEqual([file(), head()], [first, commit])
    const refused = (await audited(service, 'site.edit')).slice(told.length)
    assert.deepEqual(new Set(refused), new Set([`${manager} config/settings.yaml error`]))
  })

  it('lose no row of a mapping that has no role or no branch, or whose role stands there twice', async () => {
    const browser = await signIn(service, manager)
    const [first, commit] = [file(), head()]
    const row = (at: number, role: string, branch: string) => ({
      [`f.library.channels.${at}.role`]: role,
      [`f.library.channels.${at}.branch`]: branch,
    })
    const channels = Object.keys(service.daemon.services.settings().library.channels).length
    for (const [values, said] of [
      [row(channels, '', 'main'), /is required/],
      [row(channels, 'default', ''), /is required/],
      [
        {
          'f.library.channels.rows': String(channels + 2),
          ...row(channels, 'default', 'a'),
          ...row(channels + 1, 'default', 'b'),
        },
        /default cannot be used, it must be unique/,
      ],
    ] as const) {
      const refused = await sent(browser, await open(browser), values)
      assert.equal(refused.status, 400)
      assert.match(refused.html, said)
      assert.deepEqual([file(), head()], [first, commit])
    }
  })

  it('name no branch that is not there, and no role that nobody knows, as what the daemon could not read', async () => {
    const browser = await signIn(service, manager)
    const [first, commit, told] = [file(), head(), await audited(service, 'site.edit')]
    const at = `f.library.channels.${Object.keys(service.daemon.services.settings().library.channels).length}`
    for (const [role, branch, said] of [
      ['default', 'nowhere', /^Im Git-Repository der Site gibt es „nowhere“ nicht/],
      ['default', '--help', /^Im Git-Repository der Site gibt es „--help“ nicht/],
      ['constructor', 'HEAD', /^Die Rolle „constructor“ gibt es nicht/],
    ] as const) {
      const row = { [`${at}.role`]: role, [`${at}.branch`]: branch }
      const refused = await sent(browser, await open(browser, undefined, german), row, german.headers)
      assert.equal(refused.status, 400)
      const faults = [...refused.html.matchAll(/class="fault"[^>]*>([^<]*)/g)].map(([, fault]) => fault!)
      assert.ok(
        faults.some((fault) => said.test(fault)),
        faults.join('\n'),
      )
    }
    assert.deepEqual([file(), head()], [first, commit])
    assert.deepEqual(
      (await audited(service, 'site.edit')).slice(told.length),
      Array.from({ length: 3 }, () => `${manager} config/settings.yaml error`),
    )
  })

  it('replace what stands where a list should, and is none', () => {
    const links = everySetting().filter(({ path }) => path.join('.') === 'company.legal_links')
    for (const [text, wrong] of [
      ['null', null],
      ['5', 5],
    ] as const) {
      const document = parseDocument(`company:\n  legal_links: ${text}\n`)
      const given = { 'company.legal_links': [{ label: 'Imprint', url: 'https://example.com' }] }
      writeSettings(document, links, given, { 'company.legal_links': shownSetting(links[0]!, wrong) })
      assert.deepEqual(document.toJS(), {
        company: { legal_links: [{ label: 'Imprint', url: 'https://example.com' }] },
      })
    }
  })

  it('that somebody else has changed meanwhile are told, and theirs is not written over unseen', async () => {
    const [mine, theirs] = [await signIn(service, manager), await signIn(service, manager)]
    const began = await open(mine)
    await theirs.fill(await open(theirs), save, { 'f.mcp.page_size': '77', 'f.documents.currency': 'USD' })
    const [first, commit] = [file(), head()]
    const told = page(
      await mine.fill(began, save, { 'f.mcp.page_size': '66', 'f.company.support': 'me@example.com' }),
    )
    assert.equal(told.status, 409)
    assert.match(told.html, /was changed by somebody else since you began; nothing is saved yet/)
    assert.match(told.html, /Meanwhile somebody else has stored: <bdi>77<\/bdi>/)
    assert.deepEqual([file(), head()], [first, commit])
    const fields = fieldsOn(told, save)
    assert.deepEqual(
      ['mcp.page_size', 'company.support', 'documents.currency'].map((name) => fields.get(`f.${name}`)),
      ['66', 'me@example.com', 'USD'],
    )
    await mine.fill(told, save)
    const { mcp, company, documents } = service.daemon.services.settings()
    assert.deepEqual([mcp.page_size, company.support, documents.currency], [66, 'me@example.com', 'USD'])
  })

  it('of the host are changed by nobody here, and those of business by no Assistant Admin', async () => {
    const browser = await signIn(service, manager)
    const [first, commit] = [file(), head()]
    const shown = await open(browser)
    const forged = await sent(browser, shown, { 'f.server.port': '1', 'f.oauth.skip_authorization': 'true' })
    assert.match(forged.html, /nothing was changed/)
    assert.deepEqual([file(), head()], [first, commit])
    const helper = await signIn(service, assistantAdmin)
    const seen = await open(helper)
    assert.match(seen.html, /The settings cannot be changed here: only a System Manager edits the site here/)
    assert.match(seen.html, /<p class="fixed" dir="auto">66<\/p>/)
    assert.doesNotMatch(seen.html, /name="f\./)
    // Who had the role when the page was shown, and has it no more.
    const users = join(service.site, 'config/users.yaml')
    const people = readFileSync(users, 'utf8')
    const role = async (text: string): Promise<void> => {
      writeFileSync(users, text)
      await operate(service.options, 'site.reload', {})
    }
    await role(people.replace('roles: [Assistant Admin]', 'roles: [System Manager]'))
    const once = await open(helper)
    await role(people)
    const denied = await sent(helper, once, { 'f.mcp.page_size': '1' })
    assert.equal(denied.status, 403)
    const told = await audited(service, 'site.edit')
    assert.ok(told.includes(`${assistantAdmin} config/settings.yaml denied`), told.join('\n'))
    assert.deepEqual([file(), head()], [first, commit])
  })

  it('of a file that cannot be read, has the layout of before, or repeats parts by name, are not changed, and the page says why', async () => {
    const browser = await signIn(service, manager)
    const whole = file()
    const before = await open(browser)
    const told = await audited(service, 'site.edit')
    for (const [text, said] of [
      ['mcp: [', /the file cannot be read; its text must be mended first/],
      // What the watcher may read meanwhile leaves editing on.
      [`${whole}assistant_core_settings:\n  skill_mode: replace\n`, /the settings have an older layout/],
      // A form lost what the section of an alias held beside its own keys.
      [
        `${whole.replace(/^company:\n(?:[ #].*\n)*/m, '')}company: &us { name: Us, support: us@example.com }\nlater: *us\n`,
        /the file repeats parts of itself by names \(&amp;name, \*name\); edit its text/,
      ],
    ] as const) {
      writeFileSync(place(), text)
      assert.match((await open(browser)).html, said)
      const refused = page(await browser.fill(before, save, { 'f.mcp.page_size': '5' }))
      assert.equal(refused.status, 403)
      assert.equal(file(), text)
    }
    const refusals = (await audited(service, 'site.edit')).slice(told.length)
    assert.deepEqual(
      refusals,
      Array.from({ length: 3 }, () => `${manager} config/settings.yaml denied`),
    )
    writeFileSync(place(), 'mcp: [')
    await assert.rejects(operate(service.options, 'site.reload', {}), /has one fault/)
    const files = await open(browser, '/admin/files?file=config/settings.yaml&edit=1')
    assert.match(files.html, /<textarea/, 'what has no form is mended as text')
    writeFileSync(place(), whole)
    await operate(service.options, 'site.reload', {})
  })

  it('lose no rows that a form has no room for', () => {
    const all = Array.from({ length: 45 }, (_, n) => [`Role ${n}`, 'next'] as const)
    const channels = everySetting().filter(({ path }) => path.join('.') === 'library.channels')
    const name = 'library.channels'
    const before = { [name]: shownSetting(channels[0]!, Object.fromEntries(all)) }
    const shown = (before[name] as object[]).slice(0, mostRows)
    const document = parseDocument('library:\n  built_ins: true # ours\n')
    writeSettings(document, channels, { [name]: [...shown.slice(1), { name: '0', _delete: true }] }, before)
    const { library } = document.toJS() as { library: { channels: object } }
    assert.deepEqual(library.channels, Object.fromEntries(all.slice(1)))
    assert.match(document.toString(), /built_ins: true # ours/)
  })
})
