/** Skills as pages: read by those who may, harmless whoever wrote them. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Browser } from '../helpers/browser.ts'
import { noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { copyOfShippedSite, startDaemon } from '../helpers/daemon.ts'

const [sales, hr] = ['sales@example.com', 'hr@example.com']
const password = 'correct horse battery staple'

describe('skills on pages', { skip }, () => {
  it('are read and followed by keyboard, hostile markdown harmless, and are not there for others', async (t) => {
    const site = copyOfShippedSite(t)
    const folder = join(site, 'skills/calling')
    mkdirSync(join(folder, 'more'), { recursive: true })
    writeFileSync(
      join(folder, 'SKILL.md'),
      `---\nname: calling\ntitle: '<b>Calling</b>'\ndescription: How to call.\nvisibility: Shared\nshared_with_roles: [Sales User]\n---\n# Calling\n\n<script>alert(1)</script> ![x](x onerror=alert(1)) [bad](javascript:alert(2))\n\nSee [the rest](more/rest.md) and [data](more/a.bin).\n`,
    )
    writeFileSync(
      join(folder, 'more/rest.md'),
      '[back](../SKILL.md) [out](../../../config/users.yaml)\n\n## The rest\n',
    )
    writeFileSync(join(folder, 'more/a.bin'), Buffer.from([0, 255, 254]))
    const daemon = await startDaemon(t, { site })
    for (const user of [sales, hr]) await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
    const page = await (await startChromium(t)).newPage()
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('dialog', (dialog) => {
      complaints.push(dialog.message())
      void dialog.dismiss()
    })
    await page.goto(`${daemon.url}/skills`)
    await page.getByLabel('E-mail address').fill(sales)
    await page.getByLabel('Password').fill(password)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: '<b>Calling</b>' }).press('Enter')
    await page.getByRole('heading', { name: '<b>Calling</b>' }).waitFor()
    await page.getByText('<script>alert(1)</script>').waitFor()
    assert.equal(await page.locator('main script, main img, main a[href^="javascript"]').count(), 0)
    await page.getByRole('link', { name: 'the rest' }).press('Enter')
    await page.getByRole('heading', { name: 'The rest' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'out', exact: true }).count(), 0)
    await page.getByRole('link', { name: 'back' }).press('Enter')
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'data' }).press('Enter')
    assert.deepEqual([...readFileSync(await (await download).path())], [0, 255, 254])
    assert.deepEqual(complaints, [])

    const other = new Browser()
    const form = await other.open(`${daemon.url}/skills`)
    assert.ok('html' in form)
    const list = await other.submit(form, { username: hr, password })
    assert.ok(
      'html' in list && !list.html.includes('Calling') && list.html.includes('/skills/finding-documents'),
    )
    for (const path of [
      'calling',
      'calling/files/more/rest.md',
      'absent',
      'finding-documents/files/../../config/users.yaml',
      'finding-documents/files/%2e%2e%2f%2e%2e%2fconfig%2fusers.yaml',
      'finding-documents/files/%zz',
    ]) {
      const refused = await other.open(`${daemon.url}/skills/${path}`)
      assert.ok('status' in refused && refused.status === 404, path)
    }
    const told = (await daemon.cli(['audit', 'search', '--type', 'skill.view', '--json'])).stdout
    assert.match(told, /"status":"ok","user":"sales@example.com"[^\n]*"target":"calling"/)
    assert.match(told, /"status":"denied","user":"hr@example.com"[^\n]*"target":"calling"/)
  })
})
