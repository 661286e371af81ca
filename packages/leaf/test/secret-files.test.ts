/** Secrets are named, and lie in one folder. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { compileSchema } from '#leaf/schema.ts'
import { namedSecrets, readSecretFile, secretName, secretsIn } from '#leaf/secret-files.ts'
import { temporaryFolder } from '../../../test/helpers/daemon.ts'

function folders(t: TestContext) {
  const top = temporaryFolder(t)
  const at = { site: join(top, 'site'), state: join(top, 'var') }
  for (const folder of [
    at.site,
    at.state,
    join(at.state, 'secrets'),
    join(top, 'credentials'),
    join(top, 'named'),
  ])
    mkdirSync(folder)
  return { ...at, top, credentials: join(top, 'credentials'), named: join(top, 'named') }
}

describe('the name of a secret', () => {
  it('is looked for in the folder of the settings, else in that of systemd, else in the state, and nowhere besides', (t) => {
    const { state, credentials, named } = folders(t)
    for (const folder of [join(state, 'secrets'), credentials]) writeFileSync(join(folder, 'key'), 'x')
    const at = (setting: string | null, place: { credentials?: string }): string =>
      secretsIn({ secrets_folder: setting }, { state, ...place })('key')
    assert.equal(at(named, { credentials }), join(named, 'key'))
    assert.equal(at(null, { credentials }), join(credentials, 'key'))
    assert.equal(at(null, {}), join(state, 'secrets/key'))
  })

  it('is no path, and leads to no other folder, such as the site of whoever writes there', (t) => {
    const { site, state } = folders(t)
    writeFileSync(join(site, 'key.txt'), 'x')
    assert.equal(secretsIn({ secrets_folder: null }, { state })('key.txt'), join(state, 'secrets/key.txt'))
    const check = compileSchema(secretName)
    for (const good of ['key', 'key.txt', 'oidc-secret_2']) assert.deepEqual(check(good), [])
    for (const bad of [
      '',
      '.',
      '..',
      '.key',
      '-key',
      'a key',
      'key\n',
      'a\\key',
      '/etc/key',
      'secrets/key',
      7,
    ])
      assert.notDeepEqual(check(bad), [], JSON.stringify(bad))
  })

  it('is found wherever a key ends in _file, but not in what callers of a tool fill in', () => {
    const found = namedSecrets([
      { store: { url_file: 'a', url: 'x' }, tracing: { headers_file: null } },
      {
        headers: { X_file: 'b' },
        query: { upload_file: '{c}' },
        input: { properties: { d_file: { default_file: 'd' } } },
      },
    ])
    assert.deepEqual(
      found.map(({ path, name }) => `${path.join('.')} ${name}`),
      ['0.store.url_file a', '1.headers.X_file b'],
    )
  })
})

describe('reading a secret', () => {
  it('leaves the line end that editors leave, and says which key names one that cannot be read', async (t) => {
    const { top } = folders(t)
    writeFileSync(join(top, 'key'), ' s3cret\r\n')
    assert.equal(await readSecretFile(join(top, 'key'), 'store.url_file'), 's3cret')
    await assert.rejects(readSecretFile(join(top, 'none'), 'store.url_file'), {
      code: 'unavailable',
      message: `store.url_file: ${join(top, 'none')} cannot be read (ENOENT)`,
    })
  })
})
