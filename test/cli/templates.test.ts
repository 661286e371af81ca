/** What `init` writes, each way that a site may begin; and the dental clinic, which is one of them. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { siteSchemas } from '../../src/house/site-schemas.ts'
import { noMeans } from '../../src/house/check-sql.ts'
import { checksSeeds } from '../../src/house/seeding.ts'
import { readWholeSite, type Snapshot } from '../../src/house/snapshot.ts'
import { operate } from '../../src/cli/control.ts'
import { firstPerson, templates, type Template } from '../../src/cli/site.ts'
import { initSite } from '../../src/house/new-site.ts'
import { roleKeyOf, type Principal } from '../../src/core/principal.ts'
import { Stop } from '#leaf/stop.ts'
import { runPromptTests } from '../../src/library/prompts/prompt-tests.ts'
import { readSite } from '#site/read-site.ts'
import { faultText } from '#site/site-files.ts'
import { projectRoot, runCli, temporaryFolder } from '../helpers/daemon.ts'
import { runService } from './running-service.ts'

async function siteOf(t: TestContext, template: Template): Promise<string> {
  const site = join(temporaryFolder(t), 'site')
  initSite(site, template)
  return site
}

/** The line by which editors find the schema of a YAML file of the site; undefined where there is none. */
function schemaLine(file: string): string | undefined {
  const found = siteSchemas.find(({ files }) =>
    files.endsWith('/') ? file.startsWith(files) : file === files,
  )
  if (!found || !/\.ya?ml$/.test(file)) return undefined
  return `# yaml-language-server: $schema=${posix.relative(posix.dirname(file), `.schemas/${found.kind}.json`)}\n`
}

describe('`init --template`', () => {
  for (const template of templates)
    it(`${template} writes a site without faults and warnings, whose prompts pass their tests`, async (t) => {
      const { reading, faults, warnings } = await readWholeSite(await siteOf(t, template), undefined, {
        ...noMeans,
        ...checksSeeds,
      })
      assert.deepEqual([faults.map(faultText), warnings.map(faultText)], [[], []])
      const results = await runPromptTests(reading.library.templates.values())
      assert.ok(results.length > 0)
      assert.deepEqual(
        results.filter(({ ok }) => !ok),
        [],
      )
    })

  it('minimal has no people, no doctypes and no seeds, and says where to begin', async (t) => {
    const site = join(temporaryFolder(t), 'site')
    const { code, stdout, stderr } = await runCli(['init', site])
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(
      stdout,
      /is a site: no people, doctypes or documents yet: begin with config\/users\.yaml\nwrote \d+ files/,
    )
    assert.ok(stdout.includes(firstPerson(`assistant-core --site ${site}`)), stdout)
    const { reading } = await readWholeSite(site, undefined, { ...noMeans, ...checksSeeds })
    assert.deepEqual(
      [reading.people.users.size, reading.platform.doctypes.size, reading.seeds.length],
      [0, 0, 0],
    )
    for (const folder of ['doctypes', 'reports', 'workflows', 'seeds'])
      assert.equal(existsSync(join(site, 'config', folder)), false, folder)
    // It serves as it is.
    await runService(t, { site, state: join(temporaryFolder(t), 'state'), options: {} as never })
  })

  it('minimal lets in whoever does what it says', async (t) => {
    const site = join(temporaryFolder(t), 'site')
    const state = join(temporaryFolder(t), 'state')
    assert.equal((await runCli(['init', site])).code, 0)
    const users = join(site, 'config/users.yaml')
    const [, example] = /^((?:#   .*\n)+)users: \[\]$/m.exec(readFileSync(users, 'utf8'))!
    const entry = example!.slice(example!.indexOf('#   - email')).replaceAll(/^#   /gm, '  ')
    writeFileSync(users, `users:\n${entry}`)
    const invited = await runCli(['users', 'invite', 'you@example.com', '--site', site, '--state', state])
    assert.equal(invited.code, 0, invited.stderr)
    assert.match(invited.stdout, /http\S+/)
  })

  it('asks nothing, and tells what it wrote', async (t) => {
    const site = join(temporaryFolder(t), 'site')
    const { code, stdout } = await runCli(['init', site, '--template', 'trading', '--json'])
    const { template, files } = JSON.parse(stdout) as { template: string; files: string[] }
    assert.deepEqual([code, template], [0, 'trading'])
    assert.ok(files.includes('config/doctypes/customer.yaml') && files.includes('.schemas/doctype.json'))
    for (const file of files) assert.ok(existsSync(join(site, file)), file)
  })

  it('refuses a template that there is not, and writes nothing', async (t) => {
    const site = join(temporaryFolder(t), 'site')
    const { code, stderr } = await runCli(['init', site, '--template', 'bakery'])
    assert.equal(code, 2)
    assert.match(stderr, /Allowed choices are minimal, trading, clinic/)
    assert.equal(existsSync(site), false)
  })
})

describe('`schema`', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)

  it('fits every file of every template, each of which names its schema in its first line', async (t) => {
    for (const template of templates) {
      const site = await siteOf(t, template)
      let checked = 0
      for (const [file, { data, bytes }] of (await readSite(site)).documents) {
        const line = schemaLine(file)
        if (line === undefined) continue
        assert.ok(Buffer.from(bytes).toString('utf8').startsWith(line), file)
        const path = join(site, file, '..', line.split('$schema=')[1]!.trim())
        const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')) as object)
        assert.ok(validate(data), `${file}: ${JSON.stringify(validate.errors)}`)
        checked++
      }
      assert.ok(checked >= 5, `${template}: ${checked}`)
    }
  })

  it('lies where the files of the package itself look for it', () => {
    for (const { kind } of siteSchemas) {
      const { title } = JSON.parse(readFileSync(join(projectRoot, `.schemas/${kind}.json`), 'utf8')) as {
        title: string
      }
      assert.equal(title, `assistant-core: ${kind}`)
    }
    for (const file of ['config/settings.yaml', 'config/doctypes/customer.yaml', 'prompts/categories.yaml'])
      assert.ok(readFileSync(join(projectRoot, file), 'utf8').startsWith(schemaLine(file)!), file)
  })

  it('prints each kind, lists them all, and knows what a misspelt one meant', async () => {
    for (const { kind } of siteSchemas.slice(0, 2)) {
      const { code, stdout } = await runCli(['schema', kind])
      assert.equal(code, 0)
      assert.equal((JSON.parse(stdout) as { title: string }).title, `assistant-core: ${kind}`)
    }
    const { stdout } = await runCli(['schema'])
    for (const { kind } of siteSchemas) assert.match(stdout, new RegExp(`^${kind} `, 'm'))
    const { code, stderr } = await runCli(['schema', 'doctyp'])
    assert.deepEqual(
      [code, stderr],
      [1, 'assistant-core: error: there is no kind "doctyp"; did you mean "doctype"?\n'],
    )
  })

  it('refuses what the readers refuse: one source', () => {
    const cases: [string, unknown][] = [
      ['settings', { server: { prot: 1 } }],
      ['users', { users: [{ email: 'x' }] }],
      ['doctype', { doctype: 'lower', fields: [] }],
      ['tool', { type: 'ftp' }],
      ['prompt', { title: 'T', status: 'Publish' }],
    ]
    for (const [kind, data] of cases) {
      const { schema } = siteSchemas.find((one) => one.kind === kind)!
      assert.equal(ajv.compile(schema)(data), false, kind)
    }
    // What has a default may be left out of the settings.
    assert.equal(ajv.compile(siteSchemas[0]!.schema)({ version: 2 }), true)
  })

  it('writes the schemas again where an older site lacks them', async (t) => {
    const site = await siteOf(t, 'clinic')
    rmSync(join(site, '.schemas'), { recursive: true })
    assert.equal((await runCli(['schema', '--write', '--site', site])).code, 0)
    assert.equal(
      (JSON.parse(readFileSync(join(site, '.schemas/users.json'), 'utf8')) as { type: string }).type,
      'object',
    )
  })
})

describe('the clinic', () => {
  function principalOf(snapshot: Snapshot, name: string): Principal {
    const { id, roles, fullName } = snapshot.people.find(`${name}@clinic.example`)!
    return { user: id, fullName, roles, roleKey: roleKeyOf(roles), scopes: [], requestId: 'test' }
  }

  it('lets each role see and do what is theirs, and nobody else', async (t) => {
    const site = await siteOf(t, 'clinic')
    const { daemon } = await runService(t, {
      site,
      state: join(temporaryFolder(t), 'state'),
      options: {} as never,
    })
    const snapshot = daemon.services.site.current()
    const call = async (name: string, tool: string, args: object): Promise<any> => {
      const answer = await snapshot.catalogue.call(principalOf(snapshot, name), tool, args, {
        stop: new Stop(),
        library: snapshot.library.site,
        progress: () => undefined,
        log: () => undefined,
        ask: () => Promise.reject(new Error('nobody to ask')),
        confirm: () => Promise.resolve(undefined),
      })
      return answer.isError ? answer.text : JSON.parse(answer.text)
    }
    const patient = { doctype: 'Patient', name: 'PAT-00001' }
    const [front, lee, manager] = await Promise.all(
      ['front', 'dr.lee', 'manager'].map((name) => call(name, 'get_document', patient)),
    )
    const shown = (answer: any): unknown => (answer.data ?? answer).insurance_number
    assert.deepEqual([shown(front), shown(lee)], ['[masked]', '[masked]'])
    assert.match(String(shown(manager)), /^INS-77/)
    assert.equal(Object.hasOwn(front.data ?? front, 'allergies'), false)

    const count = async (name: string, doctype: string): Promise<unknown> =>
      (await call(name, 'count_documents', { doctype })).count
    assert.deepEqual(
      await Promise.all(['front', 'manager'].map((name) => count(name, 'Appointment'))),
      [80, 80],
    )
    assert.equal(
      ((await count('dr.lee', 'Appointment')) as number) +
        ((await count('dr.novak', 'Appointment')) as number),
      80,
    )
    assert.match(String(await call('front', 'count_documents', { doctype: 'Treatment' })), /Treatment/)
    assert.match(
      String(
        await call('front', 'list_documents', {
          doctype: 'Patient',
          filters: { insurance_number: 'INS-771' },
        }),
      ),
      /insurance_number/,
    )
  })

  it('prints a first password for the made-up administrator, and for no real one', async (t) => {
    const first = async (domain: string): Promise<string | undefined> => {
      const site = await siteOf(t, 'clinic')
      const users = join(site, 'config/users.yaml')
      writeFileSync(users, readFileSync(users, 'utf8').replace('admin@clinic.example', `admin@${domain}`))
      const seeds = join(site, 'config/seeds')
      rmSync(seeds, { recursive: true })
      const { daemon } = await runService(t, {
        site,
        state: join(temporaryFolder(t), 'state'),
        options: {} as never,
      })
      return (await daemon.services.firstSignIn())?.user
    }
    assert.equal(await first('clinic.example'), 'admin@clinic.example')
    for (const domain of ['clinic.pt', 'example.clinic.pt', 'notexample.com'])
      assert.equal(await first(domain), undefined, domain)
  })

  it('has a prompt and a skill of its own, for those whom they concern', async (t) => {
    const site = await siteOf(t, 'clinic')
    const where = { site, state: join(temporaryFolder(t), 'state') }
    const { daemon } = await runService(t, { ...where, options: { ...where, json: true } })
    const snapshot = daemon.services.site.current()
    const seen = (name: string): string[] => {
      const principal = principalOf(snapshot, name)
      return snapshot
        .for(principal)
        .library.prompts(principal)
        .map(({ id }) => id)
    }
    assert.deepEqual(seen('front'), ['recall_letter', 'data_quality_audit', 'doctype_documentation'])
    assert.deepEqual(seen('dr.lee'), ['data_quality_audit', 'doctype_documentation'])
    const principal = principalOf(snapshot, 'dr.lee')
    assert.ok(
      snapshot
        .for(principal)
        .library.skills(principal)
        .some(({ name }) => name === 'booking-appointments'),
    )
    const { site: loaded } = await operate({ ...where, json: true }, 'status', {})
    assert.deepEqual([loaded.faults, loaded.warnings], [[], []])
  })
})
