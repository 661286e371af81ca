/** The real daemon with the suite's fixtures, behind a proxy that signs every request in. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { copyOfShippedSite, projectRoot, runCli, temporaryFolder } from '../helpers/daemon.ts'
import { startRoundRobin } from '../helpers/round-robin.ts'

type Cleanup = Pick<TestContext, 'after'>

/** The MCP URL, behind the proxy, of a daemon over a copy of the shipped site. */
export async function startTarget(t: Cleanup, user = 'sales@example.com'): Promise<string> {
  const site = copyOfShippedSite(t as TestContext)
  const state = join(temporaryFolder(t as TestContext), 'state')
  // The suite sends more in a minute than a client may.
  const settings = join(site, 'config/settings.yaml')
  const text = readFileSync(settings, 'utf8').replace(
    /(^rate_limits:\n(?:\s*#.*\n)*\s+enabled:) true/m,
    '$1 false',
  )
  writeFileSync(settings, text)

  const url = await serve(t, site, state)
  const { stdout, stderr, code } = await runCli(['tokens', 'issue', '--user', user, '--json'], {
    env: { ASSISTANT_CORE_SITE: site, ASSISTANT_CORE_STATE: state },
  })
  if (code !== 0) throw new Error(`no token: ${stderr}`)
  const { access_token: token } = JSON.parse(stdout) as { access_token: string }
  // The official suite has no way to send a token.
  const proxy = await startRoundRobin(t, { authorization: `Bearer ${token}` })
  proxy.to([url])
  return `${proxy.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`
}

/** Starts the daemon as `npm run conformance:serve` does, and gives its URL once it listens. */
async function serve(t: Cleanup, site: string, state: string): Promise<string> {
  const program = join(import.meta.dirname, 'serve.ts')
  const args = ['--import', 'tsx', program, '--site', site, '--state', state, '--port', '0']
  const child = spawn(process.execPath, args, { cwd: projectRoot })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  return new Promise((resolve, reject) => {
    void ended.then((code) => reject(new Error(`the daemon ended with ${code}: ${errors}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.includes('"listening"')) return
      const { port } = JSON.parse(line) as { port: number }
      resolve(`http://localhost:${port}`)
    })
  })
}
