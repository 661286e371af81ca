/** Every command and every snippet of the README, as a newcomer would type them, in their order. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { appendFileSync, chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { launcher, projectRoot, startDaemon, temporaryFolder, type Finished } from '../helpers/daemon.ts'

const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8')
const blocks = [...readme.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
  language: language!,
  text: text!,
}))

/** What other tests run: the two commands are what CI does first, a package is installed by its own test. */
const elsewhere = [
  'npm ci && npm start',
  'npm ci && npm test',
  'npm install --global .',
  'assistant-core serve --site my-site',
]

describe('the README', () => {
  it('opens with the two commands', () => {
    assert.deepEqual(
      blocks.slice(0, 2).map((block) => block.text.trim()),
      ['npm ci && npm start', 'npm ci && npm test'],
    )
  })

  it('has commands that work and snippets that check, in their order', async (t) => {
    const home = temporaryFolder(t)
    mkdirSync(join(home, 'bin'))
    symlinkSync(launcher, join(home, 'bin/assistant-core'))
    chmodSync(launcher, 0o755)
    const site = join(home, 'my-site')
    const run = (command: string): Promise<Finished> =>
      shell(command, home, {
        PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
        ASSISTANT_CORE_SITE: site,
        ASSISTANT_CORE_STATE: join(home, 'state'),
      })
    assert.equal((await run('assistant-core init my-site')).code, 0)
    // Commands that show what a daemon knows are run against one; it stays to the end.
    await startDaemon(t, { site, state: join(home, 'state') })

    let commands = 0
    for (const { language, text } of blocks) {
      if (language === 'sh') {
        for (const line of text
          .split('\n')
          .map((one) => one.replace(/\s+#.*$/, '').trim())
          .filter(Boolean)) {
          if (elsewhere.includes(line) || line === 'assistant-core init my-site') continue
          const done = await run(line.replace('--user USER', '--user sales@example.com'))
          assert.equal(done.code, 0, `${line}\n${done.stdout}${done.stderr}`)
          commands++
        }
      } else if (language === 'yaml' || language === 'markdown') {
        place(site, text)
        const checked = await run('assistant-core check')
        assert.equal(checked.code, 0, `${text}\n${checked.stderr}`)
        assert.equal((await run('assistant-core reload')).code, 0)
      }
    }
    assert.ok(commands >= 8, `only ${commands} commands`)
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
  else if (text.startsWith('public_url:')) mergeSettings(site, text)
  else assert.fail(`the test does not know where this belongs:\n${text}`)
}

/** The settings snippet changes keys that are there already. */
function mergeSettings(site: string, text: string): void {
  const path = join(site, 'config/settings.yaml')
  let settings = readFileSync(path, 'utf8')
  for (const line of text.split('\n')) {
    const [, indent, key, value] = /^( *)(\w+): (.+)$/.exec(line) ?? []
    if (key === undefined) continue
    const there = new RegExp(`^${indent}${key}: .*$`, 'm')
    assert.match(settings, there)
    settings = settings.replace(there, `${indent}${key}: ${value}`)
  }
  writeFileSync(path, settings)
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
