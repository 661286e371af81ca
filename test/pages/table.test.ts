/** The table of the pages: whoever comes meets at each page what its row says. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { endpointOf } from '../../src/http/endpoint-names.ts'
import { isOfPages, type PageRow, pages } from '../../src/pages/pages.ts'
import { safeNext } from '../../src/pages/account/sign-in-endpoint.ts'
import { stream } from '../../src/cli/control.ts'
import type { AuditLine } from '#audit/audit.ts'
import { projectRoot } from '../helpers/daemon.ts'
import { furnish, namesOfPages } from '../helpers/every-page.ts'
import { folders, runService, type RunningService } from '../cli/running-service.ts'

const rows: readonly (readonly [name: string, PageRow])[] = Object.entries(pages)
const drawn = rows.filter(([, { view }]) => view !== undefined)
const people = {
  nobody: undefined,
  // Has no access to the assistant.
  outsider: 'disabled@example.com',
  seller: 'sales@example.com',
  administrator: 'admin@example.com',
} as const
type Person = keyof typeof people

/** What each meets: 200, a refusal, or the sign-in page. */
const met: Record<Exclude<PageRow['for'], 'anybody'>, Record<Person, number | 'sign-in'>> = {
  signedIn: { nobody: 'sign-in', outsider: 200, seller: 200, administrator: 200 },
  users: { nobody: 'sign-in', outsider: 403, seller: 200, administrator: 200 },
  // The administrator of these tests is one.
  auditors: { nobody: 'sign-in', outsider: 403, seller: 403, administrator: 200 },
  administrators: { nobody: 'sign-in', outsider: 404, seller: 404, administrator: 200 },
}

describe('the table of the pages', () => {
  it('says who sees a page: others sign in first and come back, are refused and told of, or find nothing', async (t) => {
    const service = await furnished(t)
    const ask = await askerOf(service)
    let asked = 0
    for (const [name, { path, for: audience }] of rows) {
      if (audience === 'anybody') continue
      for (const [person, expected] of Object.entries(met[audience]) as [Person, number | 'sign-in'][]) {
        // What has parameters is there only for those who made it: it is asked who is let in.
        const isOne = /[:{]/.test(path)
        if (isOne && expected === 200) continue
        const address = `${path.replaceAll(/:\w+|\{\*\w+\}/g, 'nothing')}?of=this`
        const answer = await ask(person, address)
        asked++
        if (expected !== 'sign-in') {
          assert.equal(
            answer.status,
            isOne && person === 'seller' && audience === 'auditors' ? 404 : expected,
            `${name} ${person}`,
          )
          continue
        }
        const next = new URL(answer.headers.get('location')!, service.url).searchParams.get('next')
        assert.deepEqual([answer.status, next, safeNext(next ?? undefined)], [303, address, address], name)
      }
    }
    assert.ok(asked > 60, String(asked))
    const denied = (await eventsOf(service)).filter(({ status }) => status === 'denied')
    // The log's page, and its stream.
    assert.deepEqual(
      denied.map(({ type, user }) => [type, user]),
      [
        ['audit.view', people.seller],
        ['audit.view', people.seller],
      ],
    )
  })

  it('is what the navigation offers, and whoever is offered a page sees it', async (t) => {
    const service = await furnished(t)
    const ask = await askerOf(service)
    for (const person of ['outsider', 'seller', 'administrator'] as const) {
      const [navigation = ''] = /<nav [^]*?<\/nav>/.exec(await (await ask(person, '/')).text()) ?? []
      const links = [...navigation.matchAll(/<li><a href="([^"?]+)"/g)]
      const offered = links.map(([, path]) => path!)
      const expected = rows.filter(
        ([, page]) =>
          page.navigation !== undefined && (page.for === 'anybody' || met[page.for][person] === 200),
      )
      assert.deepEqual(
        offered,
        expected.map(([, { path }]) => path),
        person,
      )
      for (const path of offered) assert.equal((await ask(person, path)).status, 200, `${person} ${path}`)
    }
  })

  it('is what metrics count as pages, but for consent, which is an endpoint', () => {
    assert.ok(drawn.length > 30)
    for (const [name, { path, alias = path }] of rows)
      for (const one of [path, alias])
        assert.equal(endpointOf(one, isOfPages), name === 'consent' ? 'authorize' : 'pages', one)
    for (const path of ['/nothing', '/api/method/nothing', '/token/nothing'])
      assert.equal(endpointOf(path, isOfPages), 'other', path)
  })

  it('has pictures of every page in the documentation, by day and by night, all of them shown, and small', () => {
    const folder = join(projectRoot, 'docs/pictures/pages')
    const files = readdirSync(folder).filter((name) => name !== 'README.md')
    const looks = ['en-light-1440', 'de-dark-390']
    const wanted = namesOfPages.flatMap((name) => looks.map((look) => `${name}-${look}.webp`))
    assert.deepEqual(
      wanted.filter((name) => !files.includes(name)),
      [],
      'npm run pictures makes them',
    )
    const shown = [...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(/src="([^"]+)"/g)]
    assert.deepEqual(shown.map(([, name]) => name!).sort(), files.sort())
    const bytes = files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
    assert.ok(bytes < 4_000_000, `${bytes} bytes`)
  })

  it('has one row for an address, and nobody is led by signing in to what is not behind it', () => {
    const places = rows.flatMap(([, { path, alias }]) => (alias === undefined ? [path] : [path, alias]))
    assert.equal(new Set(places).size, places.length)
    for (const path of [
      '/sign-out',
      '/sign-in',
      '/choose-password',
      '/assets/pages.css',
      '/favicon.ico',
      '/nothing',
    ])
      assert.equal(safeNext(path), '/', path)
    for (const path of ['/', '/authorize?client_id=x', `${pages.consent.path}?client_id=x`])
      assert.equal(safeNext(path), path)
  })
})

async function furnished(t: TestContext): Promise<RunningService> {
  const where = folders(t)
  furnish(where.site)
  return runService(t, where)
}

async function eventsOf({ options }: RunningService): Promise<AuditLine[]> {
  const events: AuditLine[] = []
  for await (const event of stream(options, 'audit.search', {})) events.push(event)
  return events
}

/** Asks as one of the people, with a session of theirs. */
async function askerOf({
  url,
  daemon,
}: RunningService): Promise<(person: Person, path: string) => Promise<Response>> {
  const cookies = new Map<Person, string>()
  for (const [person, user] of Object.entries(people) as [Person, string | undefined][]) {
    if (user === undefined) continue
    const secret = await daemon.services.sessions.open({
      user,
      method: 'password',
      address: '127.0.0.1',
      agent: '',
    })
    cookies.set(person, `assistant_core_session=${secret}`)
  }
  return (person, path) =>
    fetch(url + path, {
      redirect: 'manual',
      headers: { accept: 'text/html', ...(cookies.has(person) && { cookie: cookies.get(person)! }) },
    })
}
