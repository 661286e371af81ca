import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, Server } from 'node:net'
import { join } from 'node:path'
import { it } from 'node:test'
import { until } from '../../packages/state/test/state-folder.ts'
import { controlSocketName } from '../../src/control/operation.ts'
import { startDaemon } from '../../src/daemon.ts'
import { folders } from '../cli/running-service.ts'
import { silent } from '../documents/trading-company.ts'
import { atEnd } from '../helpers/daemon.ts'
import { freePort } from '../helpers/free-port.ts'

it('a daemon that says it is healthy takes commands', { timeout: 60_000 }, async (t) => {
  const { site, state } = folders(t)
  const port = await freePort()
  const listen = Reflect.get(Server.prototype, 'listen') as (...args: unknown[]) => unknown
  // The control socket takes its time, as on a busy machine.
  t.mock.method(Server.prototype, 'listen', function (this: Server, ...args: never[]) {
    const begin = (): unknown => Reflect.apply(listen, this, args)
    if (String(args[0]).endsWith(controlSocketName)) setTimeout(begin, 300)
    else begin()
    return this
  })
  const starting = startDaemon({ site, state, port, log: silent, analysis: false })
  atEnd(t, async () => (await starting).stop())
  await until(() =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  const socket = connect(join(state, controlSocketName))
  await once(socket, 'connect')
  socket.destroy()
  assert.ok(await starting)
})
