/** Every key of every file of a site is decided by people with business roles or on the host, and the schemas say which. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { schemaOf, siteSchemas } from '../../src/house/site-schemas.ts'
import { decidedBy, hostChanges } from '#leaf/who-decides.ts'
import { projectRoot } from '../helpers/daemon.ts'
import * as fc from '../helpers/random.ts'

type Schema = Readonly<Record<string, unknown>>
type Path = readonly (string | number)[]

interface Key {
  readonly path: Path
  readonly by: unknown
}

/** Any key of a map, and an item of a list. */
const [anyKey, anItem] = ['any', 0]

/** Every key that a schema knows, with who decides it: nobody, when neither it nor a schema around it says so. */
function keysOf(schema: Schema, by?: unknown, path: Path = []): Key[] {
  for (const form of ['anyOf', 'allOf', 'not', 'if', '$ref', 'prefixItems', 'dependentSchemas'])
    assert.ok(!(form in schema), `${path.join('.')}: who decides is not looked for in ${form}`)
  const here = schema[decidedBy] ?? by
  assert.ok([undefined, 'business', 'host'].includes(here as string | undefined), path.join('.'))
  const { properties = {}, additionalProperties, patternProperties = {} } = schema as Record<string, Schema>
  const parts: [string | number, unknown][] = [
    ...Object.entries(properties),
    [anyKey, additionalProperties],
    ...Object.values(patternProperties).map((part): [string, unknown] => [anyKey, part]),
    [anItem, schema['items']],
  ]
  return [
    ...((schema['oneOf'] as Schema[] | undefined) ?? []).flatMap((kind) => keysOf(kind, here, path)),
    ...parts
      .filter((part): part is [string | number, Schema] => typeof part[1] === 'object')
      .flatMap(([key, part]) => {
        const below = [...path, key]
        return [{ path: below, by: part[decidedBy] ?? here }, ...keysOf(part, here, below)]
      }),
  ]
}

const kinds = siteSchemas.map(({ kind, schema }) => ({ kind, schema, keys: keysOf(schema) }))

/** A file in which nothing stands but one value. */
function nested(path: Path, value: unknown): unknown {
  return path.reduceRight<unknown>(
    (inner, key) => (typeof key === 'number' ? [inner] : { [key]: inner }),
    value,
  )
}

/** What a System Manager may change in files that are not theirs as a whole: a new name here is a decision, to be taken by somebody. */
const businessOf: Readonly<Record<string, readonly string[]>> = {
  settings: [
    'company',
    'documents.currency',
    'library',
    ...['resource_name', 'documentation_url', 'policy_uri', 'terms_of_service_uri'].map(
      (key) => `oauth.${key}`,
    ),
    ...['instructions', 'page_size', 'skill_mode', 'skill_tools', 'structured_results'].map(
      (key) => `mcp.${key}`,
    ),
  ],
  sources: [],
  tool: ['title', 'description', 'roles', 'category', 'tools.any.roles', 'tools.any.category'],
  tools: [
    'profiles',
    'tools',
    ...['enabled', 'roles', 'category', 'confirm'].map((key) => `tools.any.${key}`),
  ],
}

/** Names of what reaches the machine, the network, the log, or how others sign in. */
const reaching =
  /_file$|command|env|interpreter|^paths$|url$|uri|headers|assertion|allow_private|proxy|proxies|webhook|syslog|otlp|listen|secret|issuer|^host|hosts$|origins$|^sql$|^source|retention|max_(total|file|event)_bytes|redact|edit_in_browser|skip_authorization/

describe('every key of every schema', () => {
  for (const { kind, schema, keys } of kinds)
    it(`of ${kind} is decided by somebody, and an edit is judged by that`, () => {
      assert.ok(keys.length > 0)
      for (const { path, by } of keys) {
        const name = path.join('.')
        assert.ok(by === 'business' || by === 'host', `nobody says who decides ${kind} ${name}`)
        const expected = keys
          .filter((key) => isDeepStrictEqual(key.path, path))
          .some((key) => key.by === 'host')
        const [before, after, without] = [nested(path, 'a'), nested(path, 'b'), nested(path.slice(0, -1), {})]
        for (const [was, is] of [
          [before, after],
          [without, after],
          [before, without],
        ]) {
          const changed = hostChanges(schema, was, is).map((key) => key.join('.'))
          assert.equal(
            changed.includes(name),
            expected,
            `${kind} ${name} is ${expected ? '' : 'not '}the host's`,
          )
        }
        // Gone with all that is around it, which a reader would fill with defaults.
        assert.equal(hostChanges(schema, before, null).length > 0, expected, name)
      }
    })

  it('that is business in files of the host is one that somebody chose', () => {
    for (const [kind, chosen] of Object.entries(businessOf)) {
      const { keys } = kinds.find((one) => one.kind === kind)!
      const business = keys.filter(({ by }) => by === 'business').map(({ path }) => path.join('.'))
      const others = business.filter(
        (name) => !chosen.some((one) => name === one || name.startsWith(`${one}.`)),
      )
      assert.deepEqual(others, [], kind)
      for (const one of chosen) assert.ok(business.includes(one), `${kind} ${one}`)
    }
  })

  it('whose name reaches the machine, the network, the log or a sign-in is the host\u2019s', () => {
    // Addresses that are only shown, SQL over the documents that the reader may see, and a statement's own names.
    const shown =
      /^settings (oauth\.(documentation_url|policy_uri|terms_of_service_uri)|company\.legal_links\.0\.url)$|^report sql$/
    const wrong = kinds
      .flatMap(({ kind, keys }) =>
        keys.map(({ path, by }) => ({ name: `${kind} ${path.join('.')}`, path, by })),
      )
      .filter(({ path, by }) => by === 'business' && reaching.test(String(path.at(-1))))
      .map(({ name }) => name)
      .filter((name) => !shown.test(name))
    assert.deepEqual(wrong, [])
  })

  it('of a file that no reader knows is the host\u2019s', () => {
    assert.equal(schemaOf('config/more.yaml'), undefined)
    assert.deepEqual(hostChanges(undefined, { a: 1 }, { a: 2 }), [['a']])
    const { schema } = kinds.find(({ kind }) => kind === 'users')!
    assert.deepEqual(hostChanges(schema, {}, { not_a_key: 1 }), [['not_a_key']])
    assert.deepEqual(hostChanges(schema, {}, { constructor: 1, users: [{ toString: 2 }] }), [
      ['constructor'],
      ['users', 0, 'toString'],
    ])
  })

  it('has a schema wherever a shipped site has YAML', () => {
    const templates = join(projectRoot, 'templates')
    const sites = [projectRoot, ...readdirSync(templates).map((name) => join(templates, name))].filter(
      (site) => existsSync(join(site, 'config')),
    )
    assert.ok(sites.length > 1)
    for (const site of sites)
      for (const entry of readdirSync(join(site, 'config'), { recursive: true, withFileTypes: true })) {
        const file = relative(site, join(entry.parentPath, entry.name))
        if (/\.ya?ml$/.test(file)) assert.ok(schemaOf(file), file)
      }
  })
})

describe('two readings of a file', () => {
  it('differ somewhere, whatever they hold, unless they are the same', () => {
    const value = fc.jsonValue({ maxDepth: 4 })
    fc.assert(
      fc.property(value, value, (one, other) => {
        const paths = hostChanges(undefined, one, other)
        assert.equal(paths.length === 0, isDeepStrictEqual(one, other))
        assert.deepEqual(hostChanges(undefined, one, structuredClone(one)), [])
      }),
    )
  })

  it('are told apart at the deepest place, also where a map became a list, a text or nothing', () => {
    const changed = (was: unknown, is: unknown): string[] =>
      hostChanges(undefined, was, is).map((path) => path.join('.'))
    assert.deepEqual(changed({ a: { b: 1, c: [1, 2] } }, { a: { b: 1, c: [1, 3] } }), ['a.c.1'])
    assert.deepEqual(changed({ a: { b: 1 } }, { a: 'b' }), ['a', 'a.b'])
    assert.deepEqual(changed({ a: { b: 1 } }, { a: null }), ['a.b'])
    assert.deepEqual(changed({ a: ['x'] }, { a: { 0: 'x' } }), ['a', 'a.0', 'a.0'])
    assert.deepEqual(changed({}, { a: {} }), ['a'])
    assert.deepEqual(changed({ a: null }, {}), ['a'])
    assert.deepEqual(changed({ a: 1 }, { a: '1' }), ['a'])
  })
})
