/** The library of prompts on pages: found, tried, written and restored by keyboard, and only by those who may. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { Browser } from '../helpers/browser.ts'
import { noChromium as skip, startChromium, writeWhole } from '../helpers/chromium.ts'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'

const [admin, sales, hr] = ['admin@example.com', 'sales@example.com', 'hr@example.com']
const password = 'correct horse battery staple'
const hostile = '<img src=x onerror=alert(1)> \u202egnp.exe'
const letter = 'prompts/letter.md'
const original = `---
title: '${hostile}'
description: '<script>alert(2)</script> & more'
status: Draft
visibility: Private
owner: ${sales}
arguments:
  - argument_name: who
    display_label: '"><b>Who</b>'
    is_required: 1
  - argument_name: regions
    argument_type: multiselect
    allowed_values: [North, South]
  - argument_name: formal
    argument_type: boolean
tests:
  - name: greets
    arguments: { who: Ada, formal: 'false' }
    contains: Dear Ada
---
{% if formal %}Esteemed{% else %}Dear{% endif %} {{ who }}{% for region in regions %}, {{ region }}{% endfor %}
`

describe('prompts on pages', { skip }, () => {
  it('are found, tried with real types, tested and published by keyboard, hostile words harmless', async (t) => {
    const { daemon } = await library(t)
    const { page, complaints } = await signedInAs(t, daemon, sales)
    await page.goto(`${daemon.url}/prompts`)
    await page.getByText('Filters').press('Enter')
    await page.getByRole('combobox', { name: 'Status' }).selectOption('Draft')
    await page.getByRole('searchbox', { name: 'Search' }).fill('letter')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: hostile }).press('Enter')
    await page.getByRole('heading', { name: hostile, exact: true }).waitFor()
    await page.getByRole('button', { name: 'Preview' }).press('Enter')
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Who' }).getAttribute('aria-invalid'), 'true')
    await page.getByRole('textbox', { name: 'Who' }).fill('Ada {{ 7*7 }}')
    await page.getByRole('checkbox', { name: 'South' }).press('Space')
    await page.getByRole('combobox', { name: 'formal' }).selectOption('no')
    await page.getByRole('button', { name: 'Preview' }).press('Enter')
    await page.getByRole('region', { name: 'Preview' }).getByText('Dear Ada {{ 7*7 }}, South').waitFor()
    assert.equal(await page.getByRole('checkbox', { name: 'South' }).isChecked(), true)
    await page.getByRole('button', { name: 'Run 1 test' }).press('Enter')
    await page.getByText('greets – passed').waitFor()
    await page.getByRole('button', { name: 'Publish' }).press('Enter')
    await page.getByRole('status').getByText('It is saved.').waitFor()
    assert.equal(gitIn(daemon.site, 'log', '-1', '--format=%ae %s'), `${sales} prompts: letter is Published`)
    assert.equal(await page.locator('main img, main script:not([src^="/assets/"])').count(), 0)
    assert.deepEqual(complaints, [])
  })

  it('are written, their faults shown at their line, compared and restored, each save a commit in the person’s name', async (t) => {
    const { daemon } = await library(t)
    const { page, complaints } = await signedInAs(t, daemon, sales)
    await page.goto(`${daemon.url}/new-prompt`)
    await page.getByRole('textbox', { name: 'Name for programs' }).fill('offer')
    const good = (await textOf(page)).replace("title: ''", 'title: Offer')
    await writeWhole(page, good.replace('Write about {{ topic }}', 'Line one\n{% if topic %}'))
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByRole('alert').getByText('It has faults').waitFor()
    await page
      .getByRole('link', { name: /^Line 13, column/ })
      .first()
      .waitFor()
    assert.match(await textOf(page), /\{% if topic %\}/)
    await writeWhole(page, good)
    await page.getByRole('textbox', { name: 'Topic' }).fill('tea')
    await page.getByRole('button', { name: 'Preview' }).press('Enter')
    await page.getByRole('region', { name: 'Preview' }).getByText('Write about tea.').waitFor()
    await page.getByRole('button', { name: 'Check' }).press('Enter')
    // It stays: the preview, which follows what is typed, took its place a moment later.
    await page.waitForLoadState('networkidle')
    await page.getByRole('status').getByText('It has no faults.').waitFor()
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByRole('heading', { name: 'Offer', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Edit' }).press('Enter')
    await writeWhole(page, good.replace('Write about', 'Tell me about'))
    await page.getByRole('textbox', { name: 'What is new' }).fill('friendlier')
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByRole('link', { name: 'History' }).press('Enter')
    await page.getByRole('heading', { name: 'friendlier' }).waitFor()
    await page.getByText('What changed').first().press('Enter')
    await page.getByRole('group', { name: 'What changed' }).getByText('+Tell me about').waitFor()
    await page.getByRole('combobox', { name: 'Compare version' }).selectOption('2')
    await page.getByRole('combobox', { name: 'with version' }).selectOption('1')
    await page.getByRole('button', { name: 'Compare' }).press('Enter')
    await page
      .getByRole('group', { name: 'From version 2 to version 1' })
      .getByText('-Tell me about')
      .waitFor()
    await page.goto(`${daemon.url}/prompts/offer/history?from=1&to=9`)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Restore version 1' }).press('Enter')
    await page.getByRole('status').getByText('It is saved.').waitFor()
    assert.equal(
      gitIn(daemon.site, 'log', '--format=%an|%s', '--', 'prompts/users'),
      ['restore version 1 of offer', 'friendlier (offer)', 'create (offer)']
        .map((subject) => `Sam Sales|prompts: ${subject}`)
        .join('\n'),
    )
    assert.deepEqual(complaints, [])
  })

  it('lose nothing when two people edit at once: who saves second sees both and the difference', async (t) => {
    const { daemon } = await library(t)
    const [mine, theirs] = [await signedInAs(t, daemon, sales), await signedInAs(t, daemon, admin)]
    for (const { page } of [mine, theirs]) await page.goto(`${daemon.url}/prompts/letter/edit`)
    const write = async (page: Page, word: string): Promise<void> => {
      await writeWhole(page, (await textOf(page)).replace('Esteemed', word))
      await page.getByRole('button', { name: 'Save' }).press('Enter')
    }
    await write(mine.page, 'Honoured')
    await mine.page.getByRole('status').getByText('It is saved.').waitFor()
    await write(theirs.page, 'Revered')
    const { page } = theirs
    await page.getByRole('alert').getByText('Somebody else changed it').waitFor()
    await page.getByRole('region', { name: 'What stands there now' }).getByText('Honoured').waitFor()
    await page
      .getByRole('group', { name: 'How yours differs' })
      .getByText('+{% if formal %}Revered')
      .waitFor()
    assert.match(readFileSync(join(daemon.site, letter), 'utf8'), /Honoured/)
    assert.match(await textOf(page), /Revered/)
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByRole('status').getByText('It is saved.').waitFor()
    assert.match(readFileSync(join(daemon.site, letter), 'utf8'), /Revered/)
    assert.deepEqual(theirs.complaints, [])
  })

  it('go onto the branch of a channel, or into the file alone where the server does not commit', async (t) => {
    const { daemon } = await library(t, { channels: '{ Assistant Admin: next }' })
    const { page } = await signedInAs(t, daemon, admin)
    await page.goto(`${daemon.url}/prompts/letter/edit`)
    await page
      .getByRole('combobox', { name: 'Where to' })
      .selectOption({ label: 'branch next (Assistant Admin)' })
    await writeWhole(page, (await textOf(page)).replace('Esteemed', 'Tried first'))
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByRole('status').getByText('It is saved.').waitFor()
    assert.match(gitIn(daemon.site, 'show', `next:${letter}`), /Tried first/)
    assert.equal(readFileSync(join(daemon.site, letter), 'utf8'), original)

    const shown = await library(t, { commit: false })
    const reader = await signedInAs(t, shown.daemon, sales)
    await reader.page.goto(`${shown.daemon.url}/prompts/letter`)
    await reader.page.getByRole('button', { name: 'Publish' }).press('Enter')
    await reader.page.getByRole('status').waitFor()
    assert.match(readFileSync(join(shown.daemon.site, letter), 'utf8'), /status: Published/)
  })

  it('are asked to be offered by who may not offer them, until a System Manager does it or declines', async (t) => {
    const { daemon } = await library(t)
    const [mine, theirs] = [await signedInAs(t, daemon, sales), await signedInAs(t, daemon, admin)]
    const waiting = theirs.page.getByRole('heading', { name: 'Their owners ask' })
    const ask = async (): Promise<void> => {
      await mine.page.goto(`${daemon.url}/prompts/letter`)
      await mine.page.getByRole('button', { name: 'Ask for it to be offered' }).press('Enter')
      await mine.page.getByText(`${sales} asks for it to be offered`).waitFor()
    }
    await ask()
    await mine.page.goto(`${daemon.url}/prompts`)
    assert.equal(await mine.page.getByRole('heading', { name: 'Their owners ask' }).count(), 0)
    await theirs.page.goto(`${daemon.url}/prompts`)
    await waiting.waitFor()
    await theirs.page.getByRole('link', { name: hostile }).first().press('Enter')
    await theirs.page.getByRole('button', { name: 'Decline' }).press('Enter')
    await theirs.page.getByRole('button', { name: 'Decline' }).waitFor({ state: 'detached' })
    await theirs.page.goto(`${daemon.url}/prompts`)
    assert.equal(await waiting.count(), 0)

    await ask()
    await theirs.page.goto(`${daemon.url}/prompts/letter/edit`)
    await writeWhole(
      theirs.page,
      (await textOf(theirs.page))
        .replace('visibility: Private', 'visibility: Public')
        .replace('status: Draft', 'status: Published'),
    )
    await theirs.page.getByRole('button', { name: 'Save' }).press('Enter')
    await theirs.page.getByRole('status').getByText('It is saved.').waitFor()
    await theirs.page.goto(`${daemon.url}/prompts`)
    assert.equal(await waiting.count(), 0)
    await mine.page.goto(`${daemon.url}/prompts/letter`)
    assert.equal(await mine.page.getByRole('button', { name: 'Ask for it to be offered' }).count(), 0)

    // Who is no owner of it cannot ask, and it is told.
    const page = await (await signedOver(daemon, hr)).open(`${daemon.url}/prompts/letter`)
    assert.ok('html' in page && !page.html.includes('Ask for it to be offered'))
    const told = async (type: string): Promise<string[]> =>
      (await daemon.cli(['audit', 'search', '--type', type, '--json'])).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { status: string; user: string })
        .map(({ status, user }) => `${user} ${status}`)
    assert.deepEqual(await told('prompt.ask'), [`${sales} ok`, `${sales} ok`])
    assert.deepEqual(await told('prompt.decline'), [`${admin} ok`])
  })

  it('are not there for who may not see them, and no form of another page or person changes one', async (t) => {
    const { daemon } = await library(t)
    const them = await signedOver(daemon, hr)
    for (const page of ['', '/history', '/edit']) {
      const [hidden, absent] = await Promise.all(
        ['letter', 'absent'].map((id) => them.open(`${daemon.url}/prompts/${id}${page}`)),
      )
      assert.ok('status' in hidden! && 'status' in absent! && hidden.status === 404 && absent.status === 404)
      assert.equal(plain(hidden.html, 'letter'), plain(absent.html, 'absent'))
    }
    const list = await them.open(`${daemon.url}/prompts?f.status=Draft`)
    assert.ok('html' in list && !list.html.includes('letter'))
    const own = await signedOver(daemon, sales)
    const page = await own.open(`${daemon.url}/prompts/letter`)
    assert.ok('html' in page)
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)![1]!
    const send = async (browser: Browser, path: string, form: Record<string, string>): Promise<number> => {
      const answer = await browser.open(`${daemon.url}/prompts/letter/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: daemon.url },
        body: new URLSearchParams(form).toString(),
      })
      return 'status' in answer ? answer.status : 0
    }
    for (const path of [
      'preview',
      'tests',
      'status',
      'version',
      'duplicate',
      'ask',
      'decline',
      'edit/save',
      'history/restore',
    ]) {
      assert.equal(await send(own, path, { status: 'Published' }), 403, `${path} without a token`)
      assert.equal(await send(them, path, { csrf, status: 'Published' }), 403, `${path} of another's token`)
    }
    const theirToken = /name="csrf" value="([^"]+)"/.exec(
      ((await them.open(`${daemon.url}/prompts/sales_analysis`)) as { html: string }).html,
    )![1]!
    for (const path of ['status', 'ask', 'decline'])
      assert.equal(await send(them, path, { csrf: theirToken, status: 'Published' }), 404, path)
    assert.equal(readFileSync(join(daemon.site, letter), 'utf8'), original)
    const told = (await daemon.cli(['audit', 'search', '--type', 'prompt.status', '--json'])).stdout
      .trim()
      .split('\n')
    assert.deepEqual(
      told
        .map((line) => JSON.parse(line) as { status: string; user: string; target: string })
        .map(({ status, user, target }) => [status, user, target]),
      [['denied', hr, 'letter']],
    )
  })
})

async function library(
  t: TestContext,
  { commit = true, channels = '{}' } = {},
): Promise<{ daemon: RunningDaemon }> {
  const site = copyOfShippedSite(t)
  const settings = join(site, 'config/settings.yaml')
  writeFileSync(
    settings,
    readFileSync(settings, 'utf8')
      .replace(/^ {2}commit: false/m, `  commit: ${commit}`)
      .replace(/^ {2}channels: \{\}/m, `  channels: ${channels}`),
  )
  mkdirSync(dirname(join(site, letter)), { recursive: true })
  writeFileSync(join(site, letter), original)
  gitIn(site, 'init', '--quiet', '--initial-branch=main')
  gitIn(site, 'add', '--all')
  gitIn(site, 'commit', '--quiet', '-m', 'first')
  gitIn(site, 'branch', 'next')
  const daemon = await startDaemon(t, { site })
  for (const user of [admin, sales, hr])
    await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
  return { daemon }
}

/** The text that the form would send. */
function textOf(page: Page): Promise<string> {
  return page.locator('textarea[name="text"]').inputValue()
}

function gitIn(folder: string, ...args: string[]): string {
  const by = { GIT_AUTHOR_NAME: 'Pat', GIT_AUTHOR_EMAIL: 'p@example.com' }
  const committer = { GIT_COMMITTER_NAME: 'Pat', GIT_COMMITTER_EMAIL: 'p@example.com' }
  const env = { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', ...by, ...committer }
  return execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' }).trim()
}

async function signedInAs(
  t: TestContext,
  daemon: RunningDaemon,
  user: string,
): Promise<{ page: Page; complaints: string[] }> {
  const page = await (await startChromium(t)).newPage()
  page.setDefaultTimeout(60_000)
  const complaints: string[] = []
  page.on('console', (message) => {
    // A form that is refused is told by the browser too.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  page.on('dialog', (dialog) => {
    complaints.push(dialog.message())
    void dialog.dismiss()
  })
  await page.goto(`${daemon.url}/sign-in`)
  await page.getByLabel('E-mail address').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('navigation').waitFor()
  return { page, complaints }
}

async function signedOver(daemon: RunningDaemon, username: string): Promise<Browser> {
  const browser = new Browser()
  const form = await browser.open(`${daemon.url}/prompts`)
  assert.ok('html' in form)
  await browser.submit(form, { username, password })
  return browser
}

/** A page without what differs between any two. */
function plain(html: string, id: string): string {
  return html.replaceAll(id, 'ID').replaceAll(/Request id: \S+/g, '')
}
