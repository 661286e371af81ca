/** What the shipped files say in words is so: of roles, skills, settings, files, tools and roles that they name. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { effectNames } from '../../src/core/effects.ts'
import { principalFor } from '../../src/core/principal.ts'
import { settingsSchema } from '../../src/core/settings.ts'
import { actions } from '../../src/documents/platform/platform.ts'
import { accessTo } from '../../src/documents/permission.ts'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import { readSite } from '#site/read-site.ts'
import type { Fault } from '#site/site-files.ts'
import { optionalTools } from '../../src/tools/gate/optional-tools.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { runPythonCode } from '../../src/tools/analysing/run-python-code.ts'
import { root, someone } from '../documents/trading-company.ts'
import { runService } from '../cli/running-service.ts'
import { texts } from './shipped-texts.ts'

const sites = ['', 'templates/minimal', 'templates/clinic'] as const

async function companyAt(site: string) {
  const files = await readSite(join(root, site))
  const faults: Fault[] = []
  const people = readPeople(files, faults)
  const platform = readPlatform(files, faults, people)
  assert.deepEqual(faults, [])
  const texts = files.documents.get('config/roles.yaml')?.data as {
    roles: { name: string; description?: string }[]
  }
  return { platform, roles: texts.roles }
}

describe('the descriptions of shipped roles', () => {
  for (const site of sites)
    it(`are what doctypes give them, in ${site || 'the trading company'}`, async () => {
      const { platform, roles } = await companyAt(site)
      let compared = 0
      for (const { name, description = '' } of roles) {
        const has = (doctype: string, verb: string): boolean =>
          name === 'System Manager' ||
          platform.doctypes
            .get(doctype)!
            .rules.some(({ role, actions: given }) => role === name && given.has(verb as 'read'))
        const doctypes = [...platform.doctypes.values()].filter(({ child }) => !child).map((one) => one.name)
        if (/no access/i.test(description))
          assert.deepEqual(
            doctypes.filter((doctype) => has(doctype, 'read')),
            [],
            `${name}: ${description}`,
          )
        const named = doctypes.filter((doctype) =>
          new RegExp(`\\b${doctype.replace(/y$/, 'ie')}s\\b`, 'i').test(description),
        )
        for (const doctype of named) {
          assert.ok(has(doctype, 'read'), `${name} does not read ${doctype}: ${description}`)
          if (/^works with|updates|keeps/i.test(description))
            assert.ok(has(doctype, 'write'), `${name}: ${doctype}`)
          compared++
        }
        if (/changes nothing/.test(description))
          for (const doctype of doctypes)
            for (const action of actions)
              assert.ok(
                ['read', 'report'].includes(action) || !has(doctype, action),
                `${name} ${action} ${doctype}`,
              )
        for (const action of actions)
          if (new RegExp(`\\b${action}\\b`).test(description) && action !== 'read')
            assert.ok(
              doctypes.some((doctype) => has(doctype, action)),
              `${name} may ${action} nothing: ${description}`,
            )
      }
      assert.ok(compared > 2 || site === 'templates/minimal', `${compared} doctypes named`)
    })

  it('say of pay who sees it', async () => {
    const { platform } = await companyAt('')
    const employee = platform.doctypes.get('Employee')!
    const sees = (role: string): boolean =>
      !accessTo(someone('x@example.com', 'Assistant User', role), employee, 0).masks(
        employee.fields.get('salary')!,
      )
    assert.deepEqual([sees('HR User'), sees('HR Manager')], [false, true])
  })
})

describe('the skills that come with the package', () => {
  it('are offered to who has all their doctypes and tools, and to nobody else', async (t) => {
    const { daemon } = await runService(t)
    const { catalogue, library, people, platform } = daemon.services.site.current()
    let left = 0
    for (const roles of [['Sales User'], ['HR User'], ['Purchase User'], [], ['System Manager']]) {
      const who = someone('nobody@example.com', 'Assistant User', ...roles)
      const tools = new Set(catalogue.offered(who).map(({ tool }) => tool.name))
      const mine = library.for(who)
      const expected = [...mine.reading.skills.values()]
        .filter((skill) => skill.tools.every((tool) => tools.has(tool)))
        .filter(({ doctypes }) =>
          doctypes.every((name) => accessTo(who, platform.doctypes.get(name)!, Date.now()).may('read')),
        )
        .map(({ name }) => name)
      assert.deepEqual(
        mine
          .skills(who)
          .map(({ name }) => name)
          .sort(),
        expected.sort(),
        roles.join(),
      )
      left += mine.reading.skills.size - expected.length
    }
    assert.ok(left > 3, String(left))
    const hr = principalFor(people.find('hr@example.com')!, 'r')
    assert.ok(
      !library
        .for(hr)
        .skills(hr)
        .some(({ name }) => name === 'sales-follow-up'),
    )
    assert.throws(() => library.for(hr).skill(hr, 'sales-follow-up'), { code: 'not_found' })
  })
})

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
}

function isSetting(path: readonly string[]): boolean {
  let here: Schema | undefined = settingsSchema as unknown as Schema
  for (const key of path) {
    if (!here?.properties) return true
    here = here.properties[key]
    if (!here) return false
  }
  return true
}

describe('sentences in shipped files', () => {
  it('name settings that exist', () => {
    const sections = Object.keys((settingsSchema as unknown as Schema).properties!).filter(
      (name) => name !== 'public_url' && name !== 'version',
    )
    const setting = new RegExp(`(?<![\\w./@-])(${sections.join('|')})((?:\\.[a-z_]+)+)(?![\\w/(-])`, 'g')
    const wrong: string[] = []
    let seen = 0
    for (const [file, text] of texts())
      for (const [whole, section, rest] of text.matchAll(setting)) {
        seen++
        if (/\.(yaml|md|ts|svg|test|list_changed)$/.test(whole)) continue
        if (!isSetting([section!, ...rest!.slice(1).split('.')])) wrong.push(`${file}: ${whole}`)
      }
    assert.deepEqual(wrong, [])
    assert.ok(seen > 25, String(seen))
  })

  it('name files of a site that exist, or where one may be', () => {
    const own = /^(config\/(tools|doctypes|reports|workflows|seeds|sources|imports)\/|prompts\/|skills\/)/
    const wrong: string[] = []
    let seen = 0
    for (const [file, text] of texts())
      for (const [path] of text.matchAll(/(?<![\w/.-])config\/[a-z_/-]+\.yaml/g)) {
        seen++
        const known = sites.some((site) => existsSync(join(root, site, path)))
        if (!known && !own.test(path) && path !== 'config/sources.yaml') wrong.push(`${file}: ${path}`)
      }
    assert.deepEqual(wrong, [])
    assert.ok(seen > 20, String(seen))
  })

  it('of tools name tools and arguments that exist', () => {
    const python = (versions: Record<string, string>): string =>
      runPythonCode({ versions, seconds: {} } as never).description
    const names = new Set([...builtInTools.map(({ name }) => name), ...optionalTools, ...effectNames])
    const words = new Set<string>()
    const collect = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      for (const [key, item] of Object.entries(value)) {
        words.add(key)
        if (key === 'enum' && Array.isArray(item)) for (const one of item) words.add(String(one))
        collect(item)
      }
    }
    for (const { input, output, largeOutput } of builtInTools)
      for (const one of [input, output, largeOutput]) collect(one)
    const fields =
      /^(order_date|due_date|grand_total|sum_grand_total|sum_total|customer_name|current_user|data_query|return_variables|next_offset|total_count|has_more)$/
    const wrong: string[] = []
    for (const { name, description, input } of builtInTools)
      for (const [word] of `${description} ${JSON.stringify(input)}`.matchAll(/\b[a-z]+(?:_[a-z]+)+\b/g))
        if (!names.has(word) && !words.has(word) && !fields.test(word)) wrong.push(`${name}: ${word}`)
    assert.deepEqual([...new Set(wrong)], [])
    assert.doesNotMatch(python({ python: '3.11' }), /\bdf\b/)
    assert.match(python({ python: '3.11', pandas: '2' }), /data \(a list of dicts\) and df \(a DataFrame\)/)
  })

  it('of run_python_code tell the seconds that the settings allow', () => {
    const { timeout } = runPythonCode({ versions: {}, seconds: { usual: 7, most: 900 } } as never).input
      .properties as Record<string, unknown>
    assert.deepEqual(timeout, {
      type: 'integer',
      minimum: 1,
      maximum: 900,
      description: 'Seconds; default 7.',
    })
  })

  it('name roles that exist', async () => {
    const known = new Set(
      (await Promise.all(sites.map(companyAt))).flatMap(({ roles }) => roles.map((one) => one.name)),
    )
    const wrong = texts().flatMap(([file, text]) =>
      [
        ...text.matchAll(
          /\b(?:Assistant|System|Sales|Purchase|HR|Practice|Stock|Accounts) (?:User|Manager|Admin)\b/g,
        ),
      ]
        .map(([role]) => role)
        .filter((role) => !known.has(role))
        .map((role) => `${file}: ${role}`),
    )
    assert.deepEqual(wrong, [])
  })
})
