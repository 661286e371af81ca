/** Pages in German: what the site has words for is called by them, and every fault of a form is said in them. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { messages } from '../../src/pages/views.ts'
import { type Browser, fieldsOn, type Page } from '../helpers/browser.ts'
import { administered, manager, page, sales, signIn } from './administered.ts'

const accept = { 'accept-language': 'de' }

describe('pages in German', () => {
  const ends: (() => unknown)[] = []
  let service: Awaited<ReturnType<typeof administered>>
  let browser: Browser
  before(async () => {
    service = await administered({ after: (end: () => unknown) => void ends.push(end) } as never)
    browser = await signIn(service, sales)
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const open = async (path: string, who = browser, headers: Record<string, string> = accept): Promise<Page> =>
    page(await who.open(service.url + path, { headers }))
  const send = async (
    shown: Page,
    action: string,
    typed: Record<string, string>,
    who = browser,
  ): Promise<Page> => {
    const body = fieldsOn(shown, action)
    for (const [name, value] of Object.entries(typed)) body.set(name, value)
    const headers = { ...accept, 'content-type': 'application/x-www-form-urlencoded', origin: service.url }
    return page(await who.open(service.url + action, { method: 'POST', headers, body }))
  }
  /** What a page says is wrong, without its markup. */
  const said = ({ html }: Page): string =>
    [...html.matchAll(/class="(?:small )?fault"[^>]*>([^]*?)<\/(?:p|span|div)>/g)]
      .map(([, text = '']) => text.replaceAll(/<[^>]*>/g, ' ').trim())
      .join(' | ')

  it('call reports as the site does, and say the reasons of an explanation and the faults of a prompt’s text', async () => {
    const chief = await signIn(service, manager)
    assert.match(
      (await open('/reports', chief)).html,
      /Sales%20by%20Customer" dir="auto">Umsatz je Kunde<\/a>/,
    )
    const report = await open('/reports/Sales%20by%20Customer', chief)
    assert.match(report.html, /<h1>Umsatz je Kunde<\/h1>/)
    assert.match(report.html, /<label for="f-from_date"[^>]*>Ab/)
    assert.match(report.html, /Aufträge von diesem Tag an\./)
    assert.match(report.html, /<th scope="col" class="number">Größter Auftrag<\/th>/)
    const file = await fetch(`${service.url}/reports/Sales%20by%20Customer/csv`, {
      headers: { ...accept, cookie: chief.cookiesFor(service.url) },
    })
    assert.match(await file.text(), /^Kunde,Aufträge,Summe,Größter Auftrag\r\n/)
    const explained = await open(`/admin/people?user=${sales}&subject=Customer`, chief)
    assert.match(explained.html, /<td>hat die Rolle Assistant User<\/td>/)
    assert.match(explained.html, /<th scope="row">lesen<\/th><td>[^<]*<\/td><td>Rolle Sales User<\/td>/)
    const editor = await open('/new-prompt', chief)
    const text = '---\ntitle: T\narguments:\n  - { argument_name: loop }\n---\n{% if %}x{% endif %}\n'
    const body = fieldsOn(editor, '/new-prompt/save')
    for (const [name, value] of Object.entries({ id: 'broken', text })) body.set(name, value)
    const headers = { ...accept, 'content-type': 'application/x-www-form-urlencoded', origin: service.url }
    const checked = page(
      await chief.open(`${service.url}/new-prompt/check`, { method: 'POST', headers, body }),
    )
    assert.match(checked.html, /erwartet ist ein Ausdruck, nicht/)
    assert.match(checked.html, /ist ein Wort der Vorlagensprache/)
  })

  it('call doctypes, fields, options and states as the site calls them, and keep names and values', async () => {
    const form = await open('/new-document/Sales%20Order')
    assert.match(form.html, /<h1>Neu: Auftrag<\/h1>/)
    assert.match(form.html, /<label for="f-delivery_date"[^>]*>Lieferdatum/)
    assert.match(form.html, /<option value="To Deliver">zu liefern<\/option>/)
    assert.match(form.html, /<th scope="col">Menge/)
    assert.match(
      (await open('/documents')).html,
      /Sales%20Order">Auftrag<\/a><br><span class="small">Was ein Kunde bei uns bestellt hat\./,
    )
    const list = await open('/documents/Sales%20Order?c.status=1&f.status=Closed')
    assert.match(list.html, /<td[^>]*>geschlossen<\/td>/)
    assert.match(list.html, /<option value="Closed" selected>geschlossen/)
    assert.doesNotMatch(list.html, /<td[^>]*>(Closed|zu liefern)/)
    const file = await (
      await fetch(`${service.url}/exports/Sales%20Order?c.status=1&f.status=Closed`, {
        headers: { ...accept, cookie: browser.cookiesFor(service.url) },
      })
    ).text()
    assert.match(file, /^name,Status\r\nSO-\d+,Closed\r\n/, 'values of a file are those that are stored')
    const customers = await (
      await fetch(`${service.url}/exports/Customer?c.city=1`, {
        headers: { ...accept, cookie: browser.cookiesFor(service.url) },
      })
    ).text()
    assert.match(customers, /^name,Ort\r\n/)
    const chief = await signIn(service, manager)
    const orders = await open('/documents/Purchase%20Order?c.workflow_state=1', chief)
    assert.match(orders.html, /<td[^>]*>(Entwurf|wartet auf Genehmigung|genehmigt|abgelehnt)<\/td>/)
    const english = await open('/new-document/Sales%20Order', browser, { 'accept-language': 'en' })
    assert.match(english.html, /<label for="f-delivery_date"[^>]*>Delivery Date/)
    assert.match(english.html, /<option>To Deliver<\/option>/)
  })

  it('say in German what is missing, of a wrong kind, too long, nowhere, not unique, or against a rule of the site', async () => {
    const at = '/new-document/Task'
    const blank = await open(at)
    const fault = async (
      typed: Record<string, string>,
      where = blank,
      action = `${at}/save`,
    ): Promise<string> => {
      const answer = await send(where, action, typed)
      assert.ok(answer.status >= 400, `${answer.status} ${JSON.stringify(typed)}`)
      return said(answer)
    }
    assert.match(await fault({ 'f.subject': '' }), /wird gebraucht\./)
    assert.match(await fault({ 'f.subject': 'x'.repeat(201) }), /höchstens 200 Zeichen, nicht 201\./)
    assert.match(
      await fault({ 'f.subject': 'x', 'f.due_date': 'bald' }),
      /Das ist kein Datum: &quot;bald&quot;\./,
    )
    assert.match(
      await fault({ 'f.subject': 'x', 'f.progress': 'viel' }),
      /Das ist keine Zahl: &quot;viel&quot;\./,
    )
    assert.match(
      await fault({ 'f.subject': 'x', 'f.status': 'Gone' }),
      /Zur Wahl stehen .*, nicht &quot;Gone&quot;\. Meinten Sie &quot;Done&quot;\?/,
    )
    assert.match(
      await fault({ 'f.subject': 'x', 'f.reference_doctype': 'Customer', 'f.reference_name': 'Nobody' }),
      /Customer &quot;Nobody&quot; gibt es nicht, oder nicht für Sie\./,
    )
    assert.match(
      await fault({ 'f.subject': 'x', 'f.reference_name': 'A' }),
      /„Gehört zu“ braucht die Art\.|gibt es nicht/,
    )
    const order = await open('/new-document/Sales%20Order')
    const choice = (doctype: string): string =>
      new RegExp(`<datalist id="choices-${doctype}"><option value="([^"]+)"`).exec(order.html)![1]!
    const rows = { 'f.items.0.item': choice('Item'), 'f.items.0.rate': '1' }
    const ordered = { 'f.customer': choice('Customer'), 'f.order_date': '2026-03-02', ...rows }
    const save = '/new-document/Sales%20Order/save'
    assert.match(
      await fault({ ...ordered, 'f.items.0.qty': '1', 'f.delivery_date': '2026-03-01' }, order, save),
      /Das Lieferdatum darf nicht vor dem Auftragsdatum liegen\./,
    )
    assert.match(
      await fault({ ...ordered, 'f.items.0.qty': '0' }, order, save),
      /Die Menge muss über 0 liegen\./,
    )
    const twice = await open('/new-document/Customer')
    const taken = choice('Customer').replaceAll('&amp;', '&')
    assert.match(
      await fault({ 'f.customer_name': taken }, twice, '/new-document/Customer/save'),
      /Der Name .* geht für Customer nicht; wählen Sie einen anderen\./,
    )
  })

  it('say in German that somebody was faster, that it may not be done, and that nothing is there', async () => {
    const made = await send(await open('/new-document/Task'), '/new-document/Task/save', {
      'f.subject': 'Ein Rest',
    })
    const at = new URL(made.url).pathname
    const [one, other] = [await open(`${at}/edit`), await open(`${at}/edit`)]
    await send(one, `${at}/edit/save`, { 'f.subject': 'Der erste' })
    const late = await send(other, `${at}/edit/save`, { 'f.subject': 'Der zweite' })
    assert.equal(late.status, 409)
    assert.match(late.html, /hat TASK-\d+ inzwischen geändert\. Was Sie getippt haben, steht noch da/)
    const assigned = await send(await open(at), `${at}/assign`, {
      user: 'nobody@example.com',
      confirmed: '1',
    })
    assert.match(
      said(assigned),
      /Niemand namens nobody@example\.com darf Task TASK-\d+ lesen\. Das ist eine E-Mail-Adresse\./,
    )
    assert.match(
      said(await open('/documents/Task/TASK-99999')),
      /Task &quot;TASK-99999&quot; gibt es nicht, oder nicht für Sie\./,
    )
    assert.match(said(await open('/documents/Rezept')), /Die Art Rezept gibt es nicht, oder nicht für Sie\./)
    assert.match(
      said(await open('/reports/none')),
      /Den Bericht none gibt es nicht|Unter dieser Adresse ist nichts/,
    )
    const purchase = await open('/documents/Supplier')
    assert.doesNotMatch(said(purchase), /not|may|your/)
  })

  it('leave what a model gets in the words of the site', async () => {
    const chief = await signIn(service, manager)
    const at = '/admin/tools/get_doctype_info'
    const tried = await send(await open(at, chief), `${at}/run`, { 'f.doctype': 'Customer' }, chief)
    assert.match(tried.html, /Customer Group/)
    assert.doesNotMatch(tried.html, /Kreditrahmen/)
  })

  it('say what somebody meets on the way: what has ended, what was sent too late, and what is not there', async () => {
    for (const [path, title, message] of [
      ['/approvals/nothing', 'Nicht gefunden', 'Hier wartet nichts mehr; vielleicht war die Frist vorbei.'],
      ['/sign-in/oidc', 'Nicht gefunden', 'Eine Anmeldung über die Firma gibt es hier nicht.'],
      ['/prompts/sales_analysis/history?from=1&to=99', 'Nicht gefunden', 'Diese Fassung gibt es nicht.'],
    ] as const) {
      const { html } = await open(path)
      assert.match(html, new RegExp(`<h1>${title}</h1>\n<p class="fault" role="alert">${message}</p>`), path)
    }
    const stranger = await open('/api/method/platform.integrations.oauth2.authorize?client_id=nobody')
    assert.match(stranger.html, /lassen Sie sie neu verbinden\.<\/p>/)
    const german = (fault: string): string => messages.de.fault(fault)
    assert.equal(german('this call was denied already'), 'Dieser Aufruf wurde schon abgelehnt.')
    assert.equal(
      german('the body is larger than 65536 bytes'),
      'Was gesendet wurde, ist größer als 65536 Bytes.',
    )
    assert.match(german('this was already sent; please start again'), /^Das wurde schon abgeschickt/)
    assert.match(german('the sign-in took too long, or was already used'), /^Die Anmeldung hat zu lange/)
  })
})
