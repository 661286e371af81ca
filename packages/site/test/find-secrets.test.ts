import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findSecrets } from '#site/find-secrets.ts'
import { parseSource } from '#site/parse-source.ts'

function paths(text: string): string[] {
  const { document } = parseSource('config/a.yaml', Buffer.from(text))
  assert.ok(document)
  return findSecrets(document).map((fault) => fault.path)
}

describe('finding secrets in the site', () => {
  for (const text of [
    'client_secret: hunter22',
    'login: {oidc: {clientSecret: aB3dE5fG}}',
    'api_key: 9f8e7d6c5b4a',
    'x-api-key: 9f8e7d6c5b4a',
    'users: [{password: "s3cret!"}]',
    'db: postgres://app:pa55word@db.example/app',
    'note: "use ghp_abcdefghijklmnopqrstuvwxyz0123"',
    'list: [ac_at_0123456789abcdefABCDEF]',
    'pem: |\n  -----BEGIN PRIVATE KEY-----\n  MIIE\n',
    'headers: { Authorization: Bearer sk-1234567890abcdef }',
    'headers: { Authorization: Basic dXNlcjpwYXNz }',
    'headers: { Cookie: session=9f8e7d6c5b4a }',
    'tokens: {crm: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc}',
  ]) {
    it(`refuses ${text.split('\n')[0]}`, () => assert.equal(paths(text).length, 1))
  }

  for (const text of [
    'client_secret_file: oidc',
    'headers: { Authorization_file: wiki }',
    'password: ask the administrator',
    'token: string',
    'properties: {token: {type: string}, password: {type: Password}}',
    'max_tokens: 4000',
    'fields: [{fieldname: api_key, fieldtype: Password}]',
    'webhook: https://hooks.example.com/a/b',
    'email: a@example.com',
    'token:\n  points: 120\n',
    "secret: ''",
  ]) {
    it(`lets ${JSON.stringify(text)} pass`, () => assert.deepEqual(paths(text), []))
  }
})
