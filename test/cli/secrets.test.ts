/** Where the program looks for a named secret, and what it says of one that lies elsewhere. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runCli, temporaryFolder } from '../helpers/daemon.ts'
import { folders, runService } from './running-service.ts'

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

  it('that lies elsewhere is read, and check, the log and doctor say that it must move', async (t) => {
    const secret = join(temporaryFolder(t), 'webhook-secret')
    writeFileSync(secret, 's3cret\n', { mode: 0o600 })
    const where = folders(t, [
      ['  webhook_secret_file: null', `  webhook_secret_file: ${secret}`],
      ['  headers_file: null', '  headers_file: collector'],
    ])
    mkdirSync(join(where.state, 'secrets'), { recursive: true, mode: 0o700 })
    writeFileSync(join(where.state, 'secrets/collector'), 'X-Key: k3y\n', { mode: 0o600 })
    const line = readFileSync(join(where.site, 'config/settings.yaml'), 'utf8')
      .split('\n')
      .findIndex((text) => text.includes(secret))
    const warning = `config/settings.yaml:${line + 1}:24 audit.webhook_secret_file: from 2.15 on a secret is named, and lies in the folder of secrets`
    const at = ['--site', where.site, '--state', where.state]
    const check = await runCli(['check', ...at])
    assert.deepEqual([check.code, check.stderr], [0, `warning: ${warning}\n`])

    const { lines } = await runService(t, where)
    assert.deepEqual(
      lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg),
      [warning],
    )

    const doctor = await runCli(['doctor', '--json', ...at])
    const { findings } = JSON.parse(doctor.stdout) as { findings: Record<string, string>[] }
    const about = (check: string) =>
      findings
        .filter((one) => one['check'] === check)
        .map(({ status, detail, remedy }) => [status, detail, remedy])
    assert.deepEqual(about('secrets.mode'), [
      ['ok', `${secret} is closed to other users`, undefined],
      ['ok', `${join(where.state, 'secrets/collector')} is closed to other users`, undefined],
    ])
    assert.deepEqual(about('secrets.place'), [
      [
        'warning',
        `${secret} lies elsewhere`,
        `move it to ${join(where.state, 'secrets/webhook-secret')} and name it webhook-secret`,
      ],
    ])
  })
})
