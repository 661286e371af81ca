/** What pages write of prompts, programs write, and neither where the site's rules say no. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promptMethodPrefix } from '../../src/library/prompt-methods-endpoint.ts'
import { operate } from '../../src/cli/control.ts'
import { folders, runService } from '../cli/running-service.ts'
import { page, password, sales, send, signIn } from './administered.ts'

const copy = 'prompts/users/sales@example.com/sales_analysis_copy_sales'

async function start(t: Parameters<typeof folders>[0], rule = '') {
  const where = folders(t)
  const { writeFileSync, readFileSync } = await import('node:fs')
  const file = join(where.site, 'config/tools.yaml')
  if (rule !== '') writeFileSync(file, `${readFileSync(file, 'utf8').trimEnd()}\n  ${rule}\n`)
  const service = await runService(t, where)
  await service.daemon.services.passwords.set(sales, password)
  const duplicate = async (): Promise<number> => {
    const { access_token } = (await operate(service.options, 'tokens.issue', { user: sales })) as {
      access_token: string
    }
    const response = await fetch(`${service.url}${promptMethodPrefix}duplicate_as_private`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ prompt_id: 'sales_analysis' }),
    })
    return response.status
  }
  const press = async (): Promise<string> => {
    const browser = await signIn(service, sales)
    const path = '/prompts/sales_analysis'
    return page(await send(service, browser, path, `${path}/duplicate`, {})).html
  }
  const has = (number: string): boolean => existsSync(join(where.site, `${copy}${number}.md`))
  return { duplicate, press, has, options: service.options }
}

describe('writing prompts of a site that says nothing of commits', () => {
  it('is one thing for a page and a program: both write the file', async (t) => {
    const { duplicate, press, has } = await start(t)
    assert.equal(await duplicate(), 200)
    await press()
    assert.deepEqual([has(''), has('_2')], [true, true])
  })

  it('is refused to both by one line of config/tools.yaml', async (t) => {
    const { duplicate, press, has, options } = await start(t, 'write_prompts: { enabled: false }')
    assert.equal(await duplicate(), 403)
    assert.match(await press(), /role="alert"[^>]*>Write prompts: not allowed, it is switched off/)
    assert.deepEqual([has(''), has('_2')], [false, false])
    const explained = (await operate(options, 'access.explain', {
      user: sales,
      subject: 'write_prompts',
    })) as {
      allowed: boolean
      kind: string
      reasons: { because: string; source: string }[]
    }
    assert.deepEqual([explained.allowed, explained.kind], [false, 'power'])
    assert.match(JSON.stringify(explained.reasons.at(-1)), /switched off.*config\/tools\.yaml:\d+/)
    const listed = (await operate(options, 'tools.list', {})) as { tool: string; enabled: boolean }[]
    assert.deepEqual(
      listed.filter(({ tool }) => tool.endsWith('_prompts')).map(({ tool, enabled }) => `${tool} ${enabled}`),
      ['preview_prompts true', 'write_prompts false'],
    )
  })
})
