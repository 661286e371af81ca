import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import { migrateSettings, migrateSiteSettings } from '../../src/settings/migrate-settings.ts'
import { readSettings } from '../../src/settings/read-settings.ts'
import { readSite } from '#site/read-site.ts'
import { siteFolder } from '../../packages/site/test/site-folder.ts'

const before = `# Our service.
# Do not touch on Fridays.

public_url: https://ai.example.com # behind the proxy

# The OAuth tab.
assistant_core_settings:
  # Clients register themselves.
  enable_dynamic_client_registration: 0 # not yet
  # One origin a line.
  allowed_public_client_origins: |
    https://a.example.com
    https://b.example.com

  resource_name: "Our name" # as agreed
  supported_scopes: ''
  # python limits
  max_memory_mb: 512
  audit_log_retention_days: 90 # law
  skip_authorization: false
  # the end of the tab

server:
  port: 9000 # taken
# last words
`

const after = `# Our service.
# Do not touch on Fridays.

version: 2
public_url: https://ai.example.com # behind the proxy

# The OAuth tab.
oauth:
  # Clients register themselves.
  enable_dynamic_client_registration: false # not yet
  # One origin a line.
  allowed_public_client_origins:
    - https://a.example.com
    - https://b.example.com

  resource_name: "Our name" # as agreed
  supported_scopes: []
  skip_authorization: false
  # the end of the tab

  # python limits
  # max_memory_mb: 512 (has no effect any more)
server:
  port: 9000 # taken
audit:
  retention_days: 90 # law

# last words
`

describe('migrating settings', () => {
  it('moves the old section to where its settings stand today, keeping comments and order', () => {
    const { changed, text, changes } = migrateSettings(before)
    assert.equal(changed, true)
    assert.equal(text, after)
    assert.deepEqual(changes, [
      'assistant_core_settings.enable_dynamic_client_registration is now oauth.enable_dynamic_client_registration',
      'assistant_core_settings.allowed_public_client_origins is now oauth.allowed_public_client_origins',
      'assistant_core_settings.resource_name is now oauth.resource_name',
      'assistant_core_settings.supported_scopes is now oauth.supported_scopes',
      'assistant_core_settings.max_memory_mb has no effect any more and is kept as a comment',
      'assistant_core_settings.audit_log_retention_days is now audit.retention_days',
      'assistant_core_settings.skip_authorization is now oauth.skip_authorization',
      'version is now 2',
    ])
  })

  it('changes nothing the second time', () => {
    assert.deepEqual(migrateSettings(after), { changed: false, text: after, changes: [] })
    const today = 'server:\n    port: 1   # odd spacing stays\n'
    assert.deepEqual(migrateSettings(today), { changed: false, text: today, changes: [] })
  })

  it('adds to sections that exist, and keeps the comment above the first setting', () => {
    const { text } = migrateSettings(
      'version: 1\noauth:\n  max_clients: 3\nassistant_core_settings:\n  # first\n  skip_authorization: 1\n',
    )
    assert.equal(text, 'version: 2\noauth:\n  max_clients: 3\n  # first\n  skip_authorization: true\n')
  })

  it('keeps comments when the section they stand in is emptied into another', () => {
    assert.equal(
      migrateSettings('oauth: {}\n# why\nassistant_core_settings:\n  # a\n  skip_authorization: 1\n  # end\n')
        .text,
      'version: 2\noauth:\n  # a\n  skip_authorization: true\n# why\n# end\n',
    )
  })

  it('leaves a value as it is written that both layouts write alike', () => {
    const list =
      "  # origins\n  allowed_public_client_origins: [ https://a.example ] # one\n  resource_name: 'Ours'\n"
    assert.equal(migrateSettings(`assistant_core_settings:\n${list}`).text, `version: 2\noauth:\n${list}`)
  })

  it('fills a section of today that is there without a setting, once', () => {
    assert.equal(
      migrateSettings('oauth:\nassistant_core_settings:\n  skip_authorization: 1\n').text,
      'version: 2\noauth:\n  skip_authorization: true\n',
    )
  })

  it('copes with an empty section, and with Windows line ends', () => {
    assert.equal(migrateSettings('assistant_core_settings:\n').text, 'version: 2\n')
    assert.equal(
      migrateSettings('oauth: {}\n# why\nassistant_core_settings:\n  # none\nlog: {level: debug}\n').text,
      'version: 2\noauth: {}\n# why\n# none\nlog: { level: debug }\n',
    )
    assert.equal(
      migrateSettings('# a\r\nassistant_core_settings:\r\n  skip_authorization: 0\r\n').text,
      'version: 2\r\n# a\r\noauth:\r\n  skip_authorization: false\r\n',
    )
  })

  it('means the same before and after', async (t) => {
    const meaning = async (text: string) => {
      const faults: never[] = []
      const settings = readSettings(
        await readSite(siteFolder(t, { 'config/settings.yaml': text })),
        faults,
        [],
      )
      assert.deepEqual(faults, [])
      return settings
    }
    assert.deepEqual(await meaning(after), { ...(await meaning(before)), version: 2 })
  })
})

describe('migrating the settings of a site', () => {
  it('shows the new text without writing in a dry run, then writes it and keeps the mode', async (t) => {
    const folder = siteFolder(t, { 'config/settings.yaml': before })
    const path = join(folder, 'config/settings.yaml')
    chmodSync(path, 0o640)
    assert.equal((await migrateSiteSettings(folder, { dryRun: true })).text, after)
    assert.equal(readFileSync(path, 'utf8'), before)
    assert.equal((await migrateSiteSettings(folder, { dryRun: false })).changed, true)
    assert.equal(readFileSync(path, 'utf8'), after)
    assert.equal(statSync(path).mode & 0o777, 0o640)
    assert.deepEqual(readdirSync(join(folder, 'config')), ['settings.yaml'])
    assert.equal((await migrateSiteSettings(folder, { dryRun: false })).changed, false)
  })

  it('writes through a link instead of replacing it', async (t) => {
    const folder = siteFolder(t, { 'config/real/settings.yaml': before })
    symlinkSync('real/settings.yaml', join(folder, 'config/settings.yaml'))
    await migrateSiteSettings(folder, { dryRun: false })
    assert.equal(readFileSync(join(folder, 'config/real/settings.yaml'), 'utf8'), after)
  })

  it('leaves a file with faults as it is and names them', async (t) => {
    const broken = 'assistant_core_settings:\n  skip_authorization: 7\n'
    const folder = siteFolder(t, { 'config/settings.yaml': broken })
    await assert.rejects(
      migrateSiteSettings(folder, { dryRun: false }),
      (error) =>
        error instanceof AppError &&
        error.code === 'invalid' &&
        error.message.includes(
          'config/settings.yaml:2:23 assistant_core_settings.skip_authorization: must be 0, 1',
        ),
    )
    assert.equal(readFileSync(join(folder, 'config/settings.yaml'), 'utf8'), broken)
    const newer = siteFolder(t, { 'config/settings.yaml': 'version: 9\n' })
    await assert.rejects(migrateSiteSettings(newer, { dryRun: false }), /newer release/)
    await assert.rejects(
      migrateSiteSettings(siteFolder(t), { dryRun: true }),
      /cannot read config\/settings\.yaml/,
    )
  })
})
