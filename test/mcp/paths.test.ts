/** How many functions of ours stand between the socket and the work: each is one more to read before a fault is found. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { Run } from '#jinja/limits.ts'
import { StoredCollection } from '#state/stored-collection.ts'
import { mcpPath, runService } from '../cli/running-service.ts'

const project = join(import.meta.dirname, '../..')
const sources = [join(project, 'src/'), join(project, 'packages/')]

/** Our own frames of a stack, innermost first; what Node and packages do between them is not ours to read. */
function ownFrames(stack: string): string[] {
  return stack
    .split('\n')
    .filter((line) => sources.some((source) => line.includes(source)))
    .map((line) => line.trim().replace(/^at /, '').replace('file://', '').replace(`${project}/`, ''))
}

type Methods = Record<string, (...args: unknown[]) => unknown>

/** The stacks at each call of a method while `during` runs. */
async function stacksAt(
  prototype: object,
  method: string,
  during: () => Promise<unknown>,
): Promise<string[][]> {
  const target = prototype as Methods
  const original = target[method]!
  const limit = Error.stackTraceLimit
  const stacks: string[][] = []
  target[method] = function (...args) {
    // The method itself is one of them; what stands in its place here is not ours.
    stacks.push([`${target.constructor.name}.${method}`, ...ownFrames(new Error('here').stack ?? '')])
    return original.apply(this, args)
  }
  Error.stackTraceLimit = 200
  try {
    await during()
  } finally {
    target[method] = original
    Error.stackTraceLimit = limit
  }
  return stacks
}

/** A service, and calls of it as a client makes them. */
async function service(
  t: TestContext,
): Promise<(method: string, params: object) => Promise<{ result: any }>> {
  const { url, options } = await runService(t)
  const { access_token: token } = await operate(options, 'tokens.issue', {
    user: 'admin@example.com',
  })
  return async (method, params) => {
    const response = await fetch(`${url}${mcpPath}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return (await response.json()) as { result: any }
  }
}

/** The frames from the middleware that takes every request down to the work. */
function wholePath(t: TestContext, stacks: readonly string[][]): string[] {
  const path = stacks.find((frames) => /requests-middleware/.test(frames.at(-1) ?? ''))
  assert.ok(path, `no stack reaches from the socket to the work: ${JSON.stringify(stacks)}`)
  t.diagnostic(`${path.length} frames:\n${path.join('\n')}`)
  return path
}

describe('the path of a request', () => {
  it('has at most 11 functions of ours from the socket to the store, for get_document', async (t) => {
    const call = await service(t)
    const listed = await call('tools/call', {
      name: 'list_documents',
      arguments: { doctype: 'Customer', limit: 1 },
    })
    const { name } = JSON.parse(listed.result.content[0].text).data[0]
    const asked = { name: 'get_document', arguments: { doctype: 'Customer', name } }
    let answer: any
    const stacks = await stacksAt(StoredCollection.prototype, 'get', async () => {
      answer = await call('tools/call', asked)
    })
    assert.equal(answer.result.isError, false, JSON.stringify(answer))
    const path = wholePath(
      t,
      stacks.filter(([, caller]) => caller?.includes('documents/')),
    )
    assert.ok(path.length <= 11, `${path.length} frames`)
  })

  it('has at most 8 functions of ours from the socket to the template engine, for prompts/get', async (t) => {
    const call = await service(t)
    let answer: any
    const stacks = await stacksAt(Run.prototype, 'tick', async () => {
      answer = await call('prompts/get', {
        name: 'sales_analysis',
        arguments: { analysis_focus: 'revenue_trends' },
      })
    })
    assert.equal(answer.result.messages.length, 1, JSON.stringify(answer))
    const path = wholePath(t, stacks)
    // The last function of the engine is its entry; what it does behind that is its own business.
    const entry = path.findLastIndex((frame) => frame.includes('jinja/'))
    assert.ok(entry >= 0)
    assert.ok(path.length - entry <= 8, `${path.length - entry} frames`)
  })
})
