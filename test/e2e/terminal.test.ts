/** `serve` as a person starts it: on a terminal, which is closed again; on a port that is taken; over a state that is in use. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { copyOfShippedSite, launcher, runCli, startDaemon, temporaryFolder } from '../helpers/daemon.ts'

/** Runs the words on a pseudo-terminal, closes it when the text appears, and answers what was shown and how it ended. */
const onTerminal = `
import os, pty, sys, time
seen, words = sys.argv[1].encode(), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0: os.execv(words[0], words)
shown = b''
while seen not in shown: shown += os.read(terminal, 4096)
os.close(terminal)
for _ in range(600):
    done, status = os.waitpid(pid, os.WNOHANG)
    if done: break
    time.sleep(0.1)
else: os.kill(pid, 9); status = -1
sys.stdout.write(str(os.waitstatus_to_exitcode(status) if status >= 0 else 'still runs') + '\\n' + shown.decode())
`

describe('serve on a terminal', () => {
  it('speaks to people first, and ends in order when the terminal is closed', (t) => {
    const site = copyOfShippedSite(t)
    const state = join(temporaryFolder(t), 'state')
    const words = [launcher, 'serve', '--port', '0', '--site', site, '--state', state]
    const ran = spawnSync('python3', ['-c', onTerminal, 'connect', ...words], { encoding: 'utf8' })
    if (ran.error) return t.skip('python3 is not installed')
    const [code, first = '', ...rest] = ran.stdout.split(/\r?\n/)
    assert.equal(code, '-1', `of SIGHUP, and of nothing else: ${ran.stdout}${ran.stderr}`)
    assert.match(first, /^assistant-core [\d.]+ reads .* and opens its state in /)
    assert.doesNotMatch(rest.join('\n'), /^\{/m, 'no line of JSON')
    assert.match(ran.stdout, /the first documents are being made/)
    assert.match(ran.stdout, /assistant-core listens at http:\/\/localhost:\d+/)
    assert.ok(!existsSync(join(state, 'lock')), 'the lock was let go of')
  })
})

describe('serve', () => {
  it('finds a port that is taken before it makes a state', async (t) => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, 'localhost', resolve))
    t.after(() => other.close())
    const { port } = other.address() as AddressInfo
    const state = join(temporaryFolder(t), 'state')
    const site = copyOfShippedSite(t)
    const words = ['serve', '--host', 'localhost', '--port', String(port), '--site', site, '--state', state]
    const { code, stderr } = await runCli(words)
    assert.deepEqual([code, existsSync(state)], [1, false])
    assert.match(stderr, /another program listens there; choose another port/)
  })

  it('says how to stop the one that has the state', async (t) => {
    const daemon = await startDaemon(t)
    const { code, stderr } = await runCli([
      'serve',
      '--port',
      '0',
      '--site',
      daemon.site,
      '--state',
      daemon.state,
    ])
    assert.equal(code, 1)
    assert.ok(stderr.includes(`stop it with: kill ${daemon.process.pid}`), stderr)
  })
})
