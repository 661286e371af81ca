import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Principal } from '../../src/core/principal.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { siteOf, someone } from '../documents/trading-company.ts'
import { openOffice } from './offices.ts'

const clerk = someone('clerk@example.com', 'Clerk')

describe('a program that calls tools', () => {
  it('may do no more than its user may by then, although it began before', async (t) => {
    let now: Principal | undefined = clerk
    const asked: string[] = []
    const steps: (() => void)[] = [
      () => undefined,
      () => (now = { ...clerk, roles: new Set(['Guest']), roleKey: 'Guest' }),
      () => (now = undefined),
    ]
    const tool = (name: string, run: Tool['run'], more: Partial<Tool> = {}): Tool => ({
      name,
      title: name,
      description: 'For a test.',
      category: 'read_only',
      input: { type: 'object' },
      run,
      ...more,
    })
    const texts: string[] = []
    const program = tool('program', async (_, context) => {
      for (const step of steps) {
        step()
        texts.push((await context.callTool('read', {})).text)
      }
      return 'done'
    })
    const read = tool(
      'read',
      (_, { principal }) => {
        asked.push([...principal.roles].join())
        return Promise.resolve('a secret')
      },
      { roles: ['Clerk'] },
    )
    const files = siteOf({
      'config/doctypes/a.yaml': 'doctype: Thing\nfields: [{fieldname: title, type: text}]',
    })
    const { call, events } = await openOffice(t, { files, tools: [program, read], current: () => now })
    assert.equal((await call(clerk, 'program')).text, 'done')
    assert.deepEqual(asked, ['Clerk'])
    assert.equal(texts[0], 'a secret')
    assert.match(texts[1]!, /tool "read" is not available to this user any more/)
    assert.match(texts[2]!, /tool "read" is not available to this user any more/)
    assert.deepEqual(
      events.filter(({ target }) => target === 'read').map(({ status, user }) => [status, user]),
      [
        ['ok', clerk.user],
        ['denied', clerk.user],
        ['denied', clerk.user],
      ],
    )
  })

  it('may not call a tool that only reads but needs a person to confirm', async (t) => {
    let runs = 0
    const tool = (name: string, run: Tool['run']): Tool => ({
      name,
      title: name,
      description: 'For a test.',
      category: 'read_only',
      input: { type: 'object' },
      run,
    })
    const program = tool('program', async (_, { callTool }) => (await callTool('secrets', {})).text)
    const secrets = tool('secrets', () => Promise.resolve(`read ${++runs}`))
    const files = siteOf({
      'config/doctypes/a.yaml': 'doctype: Thing\nfields: [{fieldname: title, type: text}]',
    })
    for (const confirm of ['client', 'page']) {
      const toolsYaml = `tools: { secrets: { confirm: ${confirm} } }`
      const { call, events } = await openOffice(t, { files, tools: [program, secrets], toolsYaml })
      const asked: string[] = []
      const outcome = await call(
        clerk,
        'program',
        {},
        {
          confirm: ({ tool: { name } }) => {
            asked.push(name)
            return Promise.resolve(undefined)
          },
        },
      )
      assert.equal(outcome.text, 'secrets does more than read; it must be called by itself')
      assert.deepEqual([runs, asked], [0, []])
      assert.deepEqual(
        events.map(({ target, status }) => [target, status]),
        [
          ['secrets', 'denied'],
          ['program', 'ok'],
        ],
      )
    }
  })
})
