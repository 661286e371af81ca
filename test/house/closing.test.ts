/** Whatever was opened is closed: also behind a part that fails, and once, however often it is asked. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Opening, openServices } from '../../src/house/services.ts'
import { startDaemon } from '../../src/daemon.ts'
import { createLog } from '#leaf/log.ts'
import { folders } from '../cli/running-service.ts'

const log = createLog('error', { write: () => undefined })

describe('closing', () => {
  it('goes on behind parts that fail and tells of each, so that the state is free for the next', async (t) => {
    const { site, state } = folders(t)
    const services = await openServices({ site, state, log })
    services.tasks.close = () => Promise.reject(new Error('the tasks failed'))
    services.site.close = () => Promise.reject(new Error('the site failed'))
    const failed = services.close()
    await assert.rejects(failed, /^AggregateError: the tasks failed; the site failed/)
    assert.equal(services.close(), failed, 'it is not closed a second time')
    const next = await openServices({ site, state, log })
    await next.close()
    await next.close()
  })

  it('of a daemon lets its port and its state go where a part fails, and is done once', async (t) => {
    const { site, state } = folders(t)
    const options = { site, state, port: 0, log, analysis: false }
    const daemon = await startDaemon(options)
    let closed = 0
    const { usage } = daemon.services
    const close = usage.close.bind(usage)
    usage.close = async () => {
      closed++
      await close()
      throw new Error('the usage failed')
    }
    const stopped = [daemon.stop(), daemon.stop()]
    for (const one of stopped) await assert.rejects(one, /the usage failed/)
    assert.equal(closed, 1)
    const next = await startDaemon({ ...options, port: daemon.address.port })
    await next.stop()
  })
})

describe('services that are asked for', () => {
  it('open without the others: tokens are told though the site cannot be read, which those who need it are told', async (t) => {
    const { site, state } = folders(t)
    writeFileSync(join(site, 'config/tools.yaml'), 'tools: [')
    const opening = new Opening({ site, state, log })
    const { tokens, store, keys, clients } = await opening.take(['tokens', 'store', 'keys', 'clients'])
    assert.deepEqual(await tokens.list({}), [])
    assert.equal((await keys.list()).length, 1)
    assert.equal(await clients.find('nobody'), undefined)
    assert.equal((await opening.take(['store'])).store, store, 'it is opened once')
    await assert.rejects(opening.take(['people']), /config\/tools\.yaml:1/)
    // What was open is closed, so that the state is free for the next.
    const next = new Opening({ site, state, log })
    await next.take(['tokens'])
    await next.close()
  })

  it('are held by one process at a time, whatever it asks for', async (t) => {
    const { site, state } = folders(t)
    const first = new Opening({ site, state, log })
    await first.take(['audit'])
    await assert.rejects(new Opening({ site, state, log }).take(['tokens']), { code: 'conflict' })
    await first.close()
  })
})

describe('a state that is opened', () => {
  it('is told at the start, and not by the first who asks, what hangs on documents and is to be indexed', async (t) => {
    const { site, state } = folders(t)
    const first = await openServices({ site, state, log })
    const { store } = first
    const known = store.stats().documents
    for (const name of ['comment', 'assignment', 'attachment'])
      assert.ok(`platform.${name}` in known, Object.keys(known).join(' '))
    await first.close()
  })
})
