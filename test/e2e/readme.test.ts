/** Every command and every snippet of the manuals, as a newcomer would type them, in their order. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it } from 'node:test'
import { projectRoot, runCli, startDaemon, temporaryFolder, type Finished } from '../helpers/daemon.ts'
import { blocksOf, commandsOf, mergeSettings } from '../helpers/readme.ts'

const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8')
const blocks = blocksOf(readme)

describe('the README', () => {
  it('opens with the two commands, and CI runs all that they do on a clean clone', async (t) => {
    assert.deepEqual(
      blocks.slice(0, 2).map((block) => block.text.trim()),
      ['npm ci && npm start', 'npm ci && npm test'],
    )
    const ci = readFileSync(join(projectRoot, '.ci/run'), 'utf8')
    for (const command of [/^npm ci$/m, /^npm run test:all\b/m]) assert.match(ci, command)

    // On a free port: 8787 may be taken where tests run.
    const child = spawn('npm', ['start', '--', '--port', '0'], {
      cwd: projectRoot,
      env: { ...process.env, ASSISTANT_CORE_STATE: join(temporaryFolder(t), 'state') },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    // The whole group: npm stands between.
    t.after(() => process.kill(-child.pid!, 'SIGKILL'))
    const port = await new Promise<string>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`npm start ended with ${code}`)))
      createInterface({ input: child.stdout }).on('line', (line) => {
        const found = /"port":(\d+).*"msg":"listening"/.exec(line)?.[1]
        if (found !== undefined) resolve(found)
      })
    })
    assert.equal((await fetch(`http://localhost:${port}/healthz`)).status, 200)
  })

  it('has commands that work and snippets that check, in their order', async (t) => {
    const home = temporaryFolder(t)
    const site = join(home, 'my-site')
    const run = (command: string, env: NodeJS.ProcessEnv = {}, cwd = home): Promise<Finished> =>
      shell(command, cwd, {
        PATH: `${join(home, 'prefix/bin')}:${process.env['PATH']}`,
        npm_config_prefix: join(home, 'prefix'),
        ASSISTANT_CORE_SITE: site,
        ASSISTANT_CORE_STATE: join(home, 'state'),
        ...env,
      })
    // What the text explains in its second section is needed from its first one on, and it stays to the end.
    const before = ['npm install --global .', 'assistant-core init my-site']
    for (const line of before) {
      const done = await run(line, {}, line === before[0] ? projectRoot : home)
      assert.equal(done.code, 0, `${line}\n${done.stdout}${done.stderr}`)
    }
    const daemon = await startDaemon(t, { state: join(home, 'state'), args: ['--site', site] })
    const done = new Set([
      'npm ci && npm start',
      'npm ci && npm test',
      'assistant-core serve --site my-site',
      ...before,
    ])

    for (const { language, text } of blocks) {
      if (language === 'sh') {
        for (const line of commandsOf({ language, text })) {
          if (done.has(line)) continue
          const ran = await run(line.replace('--user USER', '--user sales@example.com'))
          assert.equal(ran.code, 0, `${line}\n${ran.stdout}${ran.stderr}`)
          done.add(line)
        }
      } else if (language === 'yaml' || language === 'markdown') {
        place(site, text)
        const checked = await run('assistant-core check')
        assert.equal(checked.code, 0, `${text}\n${checked.stderr}`)
        assert.equal((await run('assistant-core reload')).code, 0)
      } else if (language === 'ts') {
        symlinkSync(join(projectRoot, 'node_modules'), join(home, 'node_modules'))
        writeFileSync(join(home, 'script.mts'), text.replace('http://localhost:8787', daemon.url))
        const issued = await run('assistant-core tokens issue --user sales@example.com --json')
        const { access_token: TOKEN } = JSON.parse(issued.stdout) as { access_token: string }
        const ran = await run(`node --import ${import.meta.resolve('tsx')} script.mts`, { TOKEN })
        assert.equal(ran.code, 0, ran.stderr)
        assert.match(ran.stdout, /total_count/)
      } else {
        // The address of the endpoint and the folders of a site: nothing that could be run.
        assert.match(
          text,
          /^(http:\/\/localhost:8787\/|config\/settings\.yaml )/,
          'a block that no test runs',
        )
      }
    }
    assert.ok(done.size >= 14, `only ${[...done].join('\n')}`)
  })

  it('leads to texts whose files do what they say, on a site of init', async (t) => {
    const home = temporaryFolder(t)
    const site = join(home, 'my-site')
    const cli = async (...words: string[]): Promise<Finished> => {
      const ran = await runCli([...words, '--site', site])
      assert.equal(ran.code, 0, `${words.join(' ')}\n${ran.stdout}${ran.stderr}`)
      return ran
    }
    assert.equal((await runCli(['init', site])).code, 0)
    const service = createServer((request, response) => {
      const { url, headers } = request
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ current: { url, key: headers['x-key'] }, forecast: 'not asked for' }))
    })
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    t.after(() => service.close())
    writeFileSync(join(home, 'weather-key'), 'the key of the service\n')

    const files = new Map<string, string>()
    for (const { text } of blocksOf(manual('config/README.md'))) {
      const [, file = '', content = ''] = /^(?:#|\/\/) (\S+)\n([^]*)$/.exec(text)!
      files.set(file, content)
    }
    files.set('prompts/quarterly_review.md', blocksOf(manual('prompts/README.md'))[0]!.text)
    files.set('skills/monthly-closing/SKILL.md', blocksOf(manual('skills/README.md'))[0]!.text)
    for (const [file, text] of files) write(site, file, text)
    assert.equal(files.size, 8)
    const tools = readFileSync(join(site, 'config/tools.yaml'), 'utf8')
    const named = tools.replace(
      '    tools:\n',
      '    tools:\n      - weather\n      - stock\n      - double\n',
    )
    writeFileSync(join(site, 'config/tools.yaml'), named)
    await cli('check')
    await cli('prompts', 'test', 'quarterly_review')

    // What stands for the reader's own: a service that is here, its key, and no database and no second server.
    const { port } = service.address() as AddressInfo
    const here = files
      .get('config/tools/weather.yaml')!
      .replace('https://api.example.com', `http://127.0.0.1:${port}`)
      .replace('allow_private: false', 'allow_private: true')
      .replace('/run/credentials/assistant-core/weather-key', join(home, 'weather-key'))
    write(site, 'config/tools/weather.yaml', here)
    rmSync(join(site, 'config/tools/wiki.yaml'))
    const daemon = await startDaemon(t, { site, state: join(home, 'state') })
    const issued = await daemon.cli(['tokens', 'issue', '--user', 'sales@example.com', '--json'])
    const { access_token: token } = JSON.parse(issued.stdout) as { access_token: string }
    const call = async (name: string, args: object): Promise<string> => {
      const answer = await fetch(`${daemon.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name, arguments: args },
        }),
      })
      const { result } = (await answer.json()) as {
        result: { content: { text: string }[]; isError: boolean }
      }
      assert.equal(result.isError, false, `${name}: ${result.content[0]!.text}`)
      return result.content[0]!.text
    }
    assert.deepEqual(JSON.parse(await call('double', { n: 21 })), { for: 'sales@example.com', twice: 42 })
    assert.deepEqual(JSON.parse(await call('weather', { city: 'São Paulo' })), {
      url: '/weather/S%C3%A3o%20Paulo',
      key: 'the key of the service',
    })
    const filters = { customer_name: 'Example Ltd' }
    assert.deepEqual(JSON.parse(await call('count_documents', { doctype: 'Customer', filters })).count, 1)
    assert.equal(
      await call('read_skill', { name: 'monthly-closing' }),
      files.get('skills/monthly-closing/SKILL.md'),
    )
    const { stdout } = await daemon.cli(['prompts', 'list', '--user', 'sales@example.com'])
    assert.match(stdout, /^quarterly_review /m)
  })
})

function manual(file: string): string {
  return readFileSync(join(projectRoot, file), 'utf8')
}

function write(site: string, path: string, content: string): void {
  mkdirSync(dirname(join(site, path)), { recursive: true })
  writeFileSync(join(site, path), content)
}

/** Puts a snippet where the README says that it belongs. */
function place(site: string, text: string): void {
  if (/^ {2}- email:/m.test(text)) appendFileSync(join(site, 'config/users.yaml'), text)
  else if (text.startsWith('doctype: ')) write(site, 'config/doctypes/vehicle.yaml', text)
  else if (/^title: Visit report/m.test(text)) write(site, 'prompts/visit_report.md', text)
  else if (/^name: returns/m.test(text)) write(site, 'skills/returns/SKILL.md', text)
  else if (text.startsWith('public_url:')) {
    const path = join(site, 'config/settings.yaml')
    writeFileSync(path, mergeSettings(readFileSync(path, 'utf8'), text))
  } else assert.fail(`the test does not know where this belongs:\n${text}`)
}

function shell(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', command], { cwd, env: { ...process.env, ...env } })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.on('close', (code) => resolve({ code, stdout, stderr }))
    child.stdin.end()
  })
}
