/** Where the program looks for a named secret, and what it says of one that is no name. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { launcher, runCli, temporaryFolder } from '../helpers/daemon.ts'
import { folders } from './running-service.ts'

const place = ['  kind: embedded', '  kind: postgres'] as const
const named = ['  url_file: null', '  url_file: database-url'] as const

describe('a named secret', () => {
  it('is looked for in the state, in $CREDENTIALS_DIRECTORY when there is one, and where the settings say', async (t) => {
    const { site, state } = folders(t, [place, named])
    const tried = async (env: NodeJS.ProcessEnv): Promise<string> => {
      const { code, stderr } = await runCli(['store', 'verify', '--site', site, '--state', state], { env })
      assert.equal(code, 1)
      return /store\.url_file: (\S+) cannot be read \(ENOENT\)/.exec(stderr)?.[1] ?? stderr
    }
    const credentials = temporaryFolder(t)
    assert.equal(await tried({ CREDENTIALS_DIRECTORY: undefined }), join(state, 'secrets/database-url'))
    assert.equal(await tried({ CREDENTIALS_DIRECTORY: credentials }), join(credentials, 'database-url'))
    const settings = join(site, 'config/settings.yaml')
    const text = readFileSync(settings, 'utf8')
    writeFileSync(settings, text.replace('secrets_folder: null', 'secrets_folder: /nowhere/at-all'))
    assert.equal(await tried({ CREDENTIALS_DIRECTORY: credentials }), '/nowhere/at-all/database-url')
  })

  it('is no path: check tells the line, and nothing starts that would look elsewhere', async (t) => {
    const secret = join(temporaryFolder(t), 'webhook-secret')
    writeFileSync(secret, 's3cret\n', { mode: 0o600 })
    const { site, state } = folders(t, [['  webhook_secret_file: null', `  webhook_secret_file: ${secret}`]])
    const line = readFileSync(join(site, 'config/settings.yaml'), 'utf8')
      .split('\n')
      .findIndex((text) => text.includes(secret))
    const fault = `config/settings.yaml:${line + 1}:24 audit.webhook_secret_file: must be the name of a file in the folder of secrets, not ${JSON.stringify(secret)}\n`
    for (const command of ['check', 'serve']) {
      const { code, stderr } = await runCli([command, '--site', site, '--state', state])
      assert.deepEqual([code, stderr.includes(fault)], [78, true], stderr)
    }
    assert.equal(existsSync(state), false)
  })

  it('may be read by nobody else, as doctor says', async (t) => {
    const where = folders(t, [['  headers_file: null', '  headers_file: collector']])
    const secret = join(where.state, 'secrets/collector')
    mkdirSync(join(where.state, 'secrets'), { recursive: true, mode: 0o700 })
    const modes = async (mode: number): Promise<unknown> => {
      writeFileSync(secret, 'X-Key: k3y\n')
      chmodSync(secret, mode)
      const { stdout } = await runCli(['doctor', '--json', '--site', where.site, '--state', where.state])
      const { findings } = JSON.parse(stdout) as { findings: Record<string, string>[] }
      return findings
        .filter(({ check }) => check === 'secrets.mode')
        .map(({ status, detail, remedy }) => [status, detail, remedy])
    }
    assert.deepEqual(await modes(0o600), [['ok', `${secret} is closed to other users`, undefined]])
    assert.deepEqual(await modes(0o644), [['failure', `others may read ${secret}`, `chmod 600 ${secret}`]])
  })
})

describe('a password typed on a terminal', () => {
  const asked = ['tries: ', 'again: ']
  /** Types each answer when it is asked for, and returns all that the terminal showed. */
  const typed = (
    where: string,
    answers: readonly string[],
  ): Promise<{ code: number | null; shown: string }> =>
    new Promise((resolve) => {
      const terminal = spawn('script', [
        '-qec',
        `${launcher} users passwd admin@example.com ${where}`,
        '/dev/null',
      ])
      let shown = ''
      let given = 0
      terminal.stdout.on('data', (text: Buffer) => {
        shown += text.toString()
        if (given < answers.length && shown.endsWith(asked[given]!)) terminal.stdin.write(answers[given++]!)
      })
      terminal.on('close', (code) => resolve({ code, shown }))
    })

  it('is taken when it was typed alike twice, is never shown, and Ctrl-C leaves all as it was', async (t) => {
    if (spawnSync('script', ['--version']).error) return t.skip('script is not installed')
    const { site, state } = folders(t)
    const where = `--site ${site} --state ${state}`
    for (const [answers, code, told] of [
      [['correct horsex\u007f battery\r', 'correct horse battery\r'], 0, /sessions_ended {2}0/],
      [['correct horse battery\r', 'wrong horse battery\r'], 1, /error: the two passwords differ/],
      [['correct \u0003'], 1, /error: interrupted/],
    ] as const) {
      const ended = await typed(where, answers)
      assert.equal(ended.code, code, ended.shown)
      assert.match(ended.shown, told)
      assert.doesNotMatch(ended.shown, /horse|correct/)
    }
    const { stdout } = await runCli(['audit', 'search', '--type', 'cli.run', '--json', ...where.split(' ')])
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { target: string; status: string })
    assert.deepEqual(
      events.map(({ target, status }) => `${target} ${status}`),
      ['users.passwd ok'],
    )
  })
})
