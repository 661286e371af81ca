/** Every command and every snippet of the README, as a newcomer would type them, in their order. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it } from 'node:test'
import { projectRoot, startDaemon, temporaryFolder, type Finished } from '../helpers/daemon.ts'
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
})

/** Puts a snippet where the README says that it belongs. */
function place(site: string, text: string): void {
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(site, path)), { recursive: true })
    writeFileSync(join(site, path), content)
  }
  if (/^ {2}- email:/m.test(text)) appendFileSync(join(site, 'config/users.yaml'), text)
  else if (text.startsWith('doctype: ')) write('config/doctypes/vehicle.yaml', text)
  else if (/^title: Visit report/m.test(text)) write('prompts/visit_report.md', text)
  else if (/^name: returns/m.test(text)) write('skills/returns/SKILL.md', text)
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
