/** People in the browser: invited, reset, let in, shut out and given roles by a System Manager, and by nobody else. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { Browser, fieldsOn, type Page } from '../helpers/browser.ts'
import {
  administered,
  assistantAdmin,
  audited,
  git,
  manager,
  page,
  password,
  sales,
  send,
  signIn,
} from './administered.ts'

describe('the people of a site in the browser', () => {
  const ends: (() => unknown)[] = []
  let service: Awaited<ReturnType<typeof administered>>
  before(async () => {
    service = await administered({ after: (end: () => unknown) => void ends.push(end) } as never, {
      edits: true,
    })
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const file = (): string => readFileSync(join(service.site, 'config/users.yaml'), 'utf8')
  const open = async (browser: Browser, path: string): Promise<Page> =>
    page(await browser.open(service.url + path))

  it('are made, invited by a link that is shown once, and sign in with the password they chose', async () => {
    const browser = await signIn(service, manager)
    const list = await open(browser, '/admin/people?new=1')
    const made = page(
      await browser.fill(list, '/admin/people/save', {
        'f.email': 'New@example.com',
        'f.full_name': 'Nora New: "x"',
        [roleOf(list, 'Sales User')]: 'Sales User',
      }),
    )
    assert.equal(new URL(made.url).search, '?user=new%40example.com&done=save', made.html)
    assert.match(made.html, /Nora New: &quot;x&quot;/)
    assert.match(git(service.site, 'log', '-1', '--format=%ae %s'), /^admin@example.com config\/users.yaml/)
    assert.match(file(), /# Has the role, but nobody has let the assistant in/, 'comments stay')
    const at = '/admin/people?user=new%40example.com'
    const invited = page(await browser.fill(await open(browser, at), '/admin/people/invite', {}))
    const link = /<code class="address">([^<]*choose-password[^<]*)<\/code>/
      .exec(invited.html)![1]!
      .replaceAll('&amp;', '&')
    assert.doesNotMatch((await open(browser, at)).html, /choose-password/, 'shown once')
    const theirs = new Browser()
    const choose = page(await theirs.open(link))
    await theirs.submit(choose, { password, again: password })
    const signed = await signIn(service, 'new@example.com')
    assert.equal((await open(signed, '/documents/Sales%20Order')).status, 200)
  })

  it('are given roles and shut out; everything else in the file stays as it is', async () => {
    const browser = await signIn(service, manager)
    const at = `/admin/people?user=${encodeURIComponent(sales)}`
    const theirs = await signIn(service, sales)
    const shown = await open(browser, at)
    const before = file()
    await browser.fill(shown, '/admin/people/save', { [roleOf(shown, 'HR User')]: 'HR User' })
    assert.equal((await open(theirs, '/documents/Employee')).status, 200)
    const added = file()
      .split('\n')
      .filter((line) => !before.split('\n').includes(line))
    assert.deepEqual(
      added.filter((line) => !/HR User|- Assistant User|- Sales User/.test(line)),
      [],
    )
    const told = await audited(service, 'site.edit')
    const asks = page(
      await browser.fill(await open(browser, at), '/admin/people/save', { 'f.enabled': null }),
    )
    assert.match(asks.html, /This person is turned away at once[^]*<button type="submit">Yes, end it/)
    assert.doesNotMatch(file(), /enabled: false/, 'it is asked before it is done')
    assert.deepEqual(await audited(service, 'site.edit'), told)
    await browser.fill(asks, '/admin/people/save')
    assert.match((await open(theirs, '/documents')).html, /name="password"/, 'shut out at once')
    await browser.fill(await open(browser, at), '/admin/people/save', { 'f.enabled': 'true' })
    assert.doesNotMatch(file(), /enabled: false/)
    assert.ok((await audited(service, 'site.edit')).includes(`${manager} config/users.yaml ok`))
  })

  it('say at its field what is wrong, and keep what was typed', async () => {
    const browser = await signIn(service, manager)
    const list = await open(browser, '/admin/people?new=1')
    const before = file()
    for (const [email, said] of [
      ['SALES@example.com', /id="f-email-about"[^]*there is somebody of this address/],
      ['no address', /id="f-email-about"[^]*class="fault"/],
      ['', /id="f-email-about"[^]*class="fault"/],
    ] as const) {
      const answer = page(
        await browser.fill(list, '/admin/people/save', { 'f.email': email, 'f.full_name': 'Twice' }),
      )
      assert.equal(answer.status, 400)
      assert.match(answer.html, said, email)
      assert.equal(fieldsOn(answer, '/admin/people/save').get('f.full_name'), 'Twice')
    }
    assert.equal(file(), before)
  })

  it('lose a right that somebody else takes meanwhile, whatever an older form of them still holds', async () => {
    const [one, other] = [await signIn(service, manager), await signIn(service, manager)]
    const at = `/admin/people?user=${encodeURIComponent(sales)}`
    const older = await open(one, at)
    const role = roleOf(older, 'Sales User')
    await other.fill(await open(other, at), '/admin/people/save', { [role]: null })
    const [before, told] = [file(), await audited(service, 'site.edit')]
    for (const [typed, isNoted] of [
      [{ 'f.full_name': 'Samuel Sales' }, false],
      [{ 'f.full_name': 'Samuel Sales', [roleOf(older, 'HR Manager')]: 'HR Manager' }, true],
    ] as const) {
      const answer = page(await one.fill(older, '/admin/people/save', typed))
      assert.equal(answer.status, 409)
      assert.match(answer.html, /changed by somebody else since you began/)
      assert.equal(file(), before)
      told.push(`${manager} config/users.yaml error`)
      assert.deepEqual((await audited(service, 'site.edit')).toSorted(), told.toSorted())
      const shown = fieldsOn(answer, '/admin/people/save')
      assert.equal(shown.get('f.full_name'), 'Samuel Sales', 'what was typed is still there')
      assert.equal(shown.has(role), isNoted, 'what nobody touched here is as it is now')
      assert.equal(/Meanwhile somebody else has stored: /.test(answer.html), isNoted, 'what both touched')
      if (isNoted) continue
      await one.fill(answer, '/admin/people/save')
      assert.match(file(), /full_name: Samuel Sales\n[^-]*roles:\n(?!.*Sales User)/)
      assert.equal((await open(await signIn(service, sales), '/documents/Customer')).status, 404)
      git(service.site, 'reset', '-q', '--hard', 'HEAD~1')
      await operate(service.options, 'site.reload', {})
      told.push(`${manager} config/users.yaml ok`)
    }
    git(service.site, 'reset', '-q', '--hard', 'HEAD~1')
    await operate(service.options, 'site.reload', {})
  })

  it('take no System Manager from themselves, after which nobody could give it back', async () => {
    const browser = await signIn(service, manager)
    const shown = await open(browser, `/admin/people?user=${encodeURIComponent(manager)}`)
    const [before, told] = [file(), await audited(service, 'site.edit')]
    const refused = page(
      await browser.fill(shown, '/admin/people/save', { [roleOf(shown, 'System Manager')]: null }),
    )
    assert.equal(refused.status, 403)
    assert.match(refused.html, /only another System Manager takes this role from you/)
    assert.equal(file(), before)
    assert.deepEqual(await audited(service, 'site.edit'), [...told, `${manager} config/users.yaml denied`])
  })

  it('are a list: found by words and role, ordered, paged to the last of them, and the same as a file', async () => {
    const browser = await signIn(service, manager)
    const many = Array.from(
      { length: 120 },
      (_, n) =>
        `  - { email: p${String(n).padStart(3, '0')}@example.com, full_name: Person ${n}, roles: [Assistant User, HR User], assistant_enabled: ${n % 2} }\n`,
    )
    const before = file()
    writeFileSync(join(service.site, 'config/users.yaml'), `${before.trimEnd()}\n${many.join('')}`)
    await operate(service.options, 'site.reload', {})
    const walk = async (first: string) => {
      const seen: string[] = []
      let path: string | undefined = first
      let counted = ''
      while (path !== undefined) {
        const { html }: Page = await open(browser, path)
        counted = /role="status">(\d+) p/.exec(html)![1]!
        seen.push(
          ...[...html.matchAll(/<th scope="row"><a href="\/admin\/people\?user=([^"]+)"/g)].map(
            (found) => found[1]!,
          ),
        )
        path = /href="(\/admin\/people\?[^"]*)">Next page/.exec(html)?.[1]?.replaceAll('&amp;', '&')
      }
      assert.deepEqual([new Set(seen).size, String(seen.length)], [seen.length, counted])
      return seen.map((one) => decodeURIComponent(one).replace('@example.com', ''))
    }
    const all = await walk('/admin/people')
    assert.ok(all.includes('p119') && all.includes('sales'))
    const backwards = await walk('/admin/people?order=name+desc')
    assert.deepEqual(backwards, [...all].reverse())
    const some = await walk(
      '/admin/people?f.roles=HR+User&f.assistant_enabled=true&words=person&order=full_name+desc',
    )
    assert.deepEqual([some.length, some[0], some.at(-1)], [60, 'p099', 'p001'])
    // A role is one, not a part of the name of another.
    assert.ok(!(await walk('/admin/people?f.roles=Sales+User')).includes('p001'))
    const wrong = await open(browser, '/admin/people?f.roles=Nobody&f.full_name=Person')
    assert.equal(wrong.status, 400)
    assert.match(wrong.html, /name="f.roles"[^>]*aria-invalid="true"/)
    assert.match(wrong.html, /name="f.full_name" value="Person"/)
    const csv = await fetch(
      `${service.url}/admin/export-people?words=person&f.roles=HR+User&order=name+desc&c.full_name=1`,
      {
        headers: { cookie: browser.cookiesFor(service.url) },
      },
    )
    const lines = (await csv.text()).split('\r\n')
    assert.deepEqual(lines.slice(0, 2), ['name,Full name', 'p119@example.com,Person 119'])
    const views = page(
      await browser.fill(await open(browser, '/admin/people?f.roles=HR+User'), '/admin/people/keep', {
        name: 'HR',
      }),
    )
    assert.match(views.html, /The view is kept\./)
    assert.match((await open(browser, '/')).html, /href="\/admin\/people\?f.roles=HR\+User" dir="auto">HR</)
    writeFileSync(join(service.site, 'config/users.yaml'), before)
    await operate(service.options, 'site.reload', {})
  })

  it('are managed by nobody else, whatever is sent, and after a recent sign-in only', async () => {
    const helper = await signIn(service, assistantAdmin)
    const at = `/admin/people?user=${encodeURIComponent(manager)}`
    const shown = await open(helper, at)
    assert.doesNotMatch(shown.html, /\/admin\/people\/(save|reset|invite)/)
    const before = file()
    for (const [deed, fields] of [
      ['reset', { id: manager }],
      ['invite', { id: assistantAdmin }],
      ['save', { person: '1', 'f.full_name': 'Mine now', 'f.roles.0': 'on' }],
    ] as const) {
      const place = `/admin/people?user=${assistantAdmin}`
      const action = `/admin/people/${deed}?user=${assistantAdmin}`
      const refused = await send(service, helper, place, action, { ...fields })
      assert.equal(refused.status, 403, deed)
      assert.doesNotMatch(refused.html, /choose-password/)
    }
    assert.equal(file(), before)
    assert.ok((await audited(service, 'site.edit')).includes(`${assistantAdmin} config/users.yaml denied`))
    const late = await signIn(service, manager)
    const person = await open(late, `/admin/people?user=${encodeURIComponent(sales)}`)
    service.pass(1000)
    const asked = page(await late.fill(person, '/admin/people/reset', {}))
    assert.match(asked.html, /name="password"/)
  })
})

/** The name of the box of a role. */
function roleOf({ html }: Page, role: string): string {
  return new RegExp(`name="(f\\.roles\\.\\d+)"[^>]*> <span[^>]*>${role}<`).exec(html)![1]!
}
