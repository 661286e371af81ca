/** What an author is told of a mistake, judged by people who had read nothing but the README. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { faultText } from '#site/site-files.ts'
import { readWholeSite } from '../../src/house/snapshot.ts'
import { copyOfShippedSite } from '../helpers/daemon.ts'
import { gitIn, writeFiles } from '../../packages/site/test/site-folder.ts'

const vehicle = `doctype: Vehicle
title_field: plate
fields:
  - { fieldname: plate, type: text, required: true }
permissions:
  - { role: Sales User, actions: [read, write, create, report] }
`
const report = `report: Vehicles
description: all of them
type: sql
doctypes: [Vehicle]
sql: SELECT plate FROM vehicle
`
const tool = `type: http
tool: weather
description: The weather of a city, now
input:
  type: object
  properties: { city: { type: string } }
  required: [city]
method: GET
url: https://weather.example.com/{city}
category: read_only
`

/** The faults of the shipped site with these files, and with each file's change. */
async function faultsWith(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, readonly [string, string]>> = {},
): Promise<string[]> {
  const site = copyOfShippedSite(t)
  writeFiles(site, files)
  for (const [file, [from, to]] of Object.entries(changes)) {
    const before = readFileSync(join(site, file), 'utf8')
    assert.ok(before.includes(from), `${file} holds ${from}`)
    writeFileSync(join(site, file), before.replace(from, to))
  }
  return (await readWholeSite(site)).faults.map(faultText)
}

describe('the faults of a site', () => {
  it('do not tell again, at every reference, that a doctype whose own file is broken is unknown', async (t) => {
    const files = { 'config/doctypes/vehicle.yaml': vehicle, 'config/reports/vehicles.yaml': report }
    assert.deepEqual(await faultsWith(t, files), [])
    assert.deepEqual(
      await faultsWith(t, { ...files, 'config/doctypes/vehicle.yaml': vehicle.replace('title', 'titel') }),
      [
        'config/doctypes/vehicle.yaml:2:1 titel_field: unknown key; did you mean "title_field"? (1 fault elsewhere follows from it)',
      ],
    )
    const noYaml = await faultsWith(t, {
      ...files,
      'config/doctypes/vehicle.yaml': vehicle.replace('fields:', 'fields: ['),
    })
    assert.ok(noYaml.length > 0)
    assert.deepEqual(
      noYaml.filter((text) => !text.startsWith('config/doctypes/vehicle.yaml:')),
      [],
    )
    assert.deepEqual(
      await faultsWith(t, {
        ...files,
        'config/reports/vehicles.yaml': report.replace('Vehicle]', 'Vehicel]'),
      }),
      ['config/reports/vehicles.yaml:4:12 doctypes[0]: unknown doctype "Vehicel"; did you mean "Vehicle"?'],
    )
  })

  it('name a misspelt tool in the limits of a client, which took the tool away unseen', async (t) => {
    const limits = (tools: string): Record<string, string> => ({
      'config/clients.yaml': `limits:\n  - { clients: [Portal], tools: [${tools}] }\n`,
    })
    assert.deepEqual(await faultsWith(t, limits('get_document, "list_*"')), [])
    assert.deepEqual(await faultsWith(t, limits('get_documnt')), [
      'config/clients.yaml:2:34 limits[0].tools[0]: unknown tool "get_documnt"; did you mean "get_document"?',
    ])
  })

  it('name channels that the daemon would refuse, which `check` let pass', async (t) => {
    const site = copyOfShippedSite(t)
    gitIn(site, 'init', '-q')
    gitIn(site, 'add', '-A')
    gitIn(site, 'commit', '-qm', 'one')
    const settings = join(site, 'config/settings.yaml')
    const text = readFileSync(settings, 'utf8')
    writeFileSync(settings, text.replace('channels: {}', 'channels: { Admn: next, Sales User: next }'))
    const faults = (await readWholeSite(site)).faults.map(({ path, message }) => `${path}: ${message}`)
    assert.deepEqual(faults, [
      'library.channels.Admn: unknown role "Admn"; channels are named by roles, or "default"',
      'library.channels.Sales User: there is no branch, tag or commit "next" in the site\'s git repository',
    ])
    gitIn(site, 'branch', 'next')
    writeFileSync(settings, text.replace('channels: {}', 'channels: { Sales User: next }'))
    assert.deepEqual((await readWholeSite(site)).faults, [])
  })

  it('stand at the word of the input schema of an own tool that is wrong, with what would be right', async (t) => {
    const file = 'config/tools/weather.yaml'
    assert.deepEqual(await faultsWith(t, { [file]: tool }), [])
    assert.deepEqual(await faultsWith(t, { [file]: tool.replace('string', 'strng') }), [
      `${file}:6:31 input.properties.city.type: must be one of "array", "boolean", "integer", "null", "number", "object" or "string", not "strng"`,
    ])
    assert.deepEqual(await faultsWith(t, { [file]: tool.replace('[city]', '[cty]') }), [
      `${file}:7:14 input.required[0]: unknown argument "cty"; did you mean "city"?`,
    ])
  })

  it('of an own tool are not told again where tools.yaml names it', async (t) => {
    assert.deepEqual(
      await faultsWith(
        t,
        { 'config/tools/weather.yaml': tool.replace('http', 'htp') },
        { 'config/tools.yaml': ['      - read_skill', '      - read_skill\n      - weather'] },
      ),
      ['config/tools/weather.yaml:1:7 type: must be "http", "sql" or "mcp", not "htp"'],
    )
  })

  it('say in words what a setting has to look like, not as a regular expression', async (t) => {
    assert.deepEqual(
      await faultsWith(
        t,
        {},
        { 'config/settings.yaml': ['public_url: null', 'public_url: assistant.example.com'] },
      ),
      [
        'config/settings.yaml:24:13 public_url: must be an address without a path, such as https://assistant.example.com, not "assistant.example.com"',
      ],
    )
  })

  it('say that a prompt or a skill has no front matter, not that null is no object', async (t) => {
    const message = 'must begin with front matter: a line "---", YAML, and a line "---"'
    assert.deepEqual(await faultsWith(t, { 'prompts/x.md': 'Hello', 'skills/x/SKILL.md': '# Hello' }), [
      `prompts/x.md:1:1 ${message}`,
      `skills/x/SKILL.md:1:1 ${message}`,
    ])
  })

  it('suggest the function that was meant', async (t) => {
    const computed = vehicle.replace(
      'permissions',
      '  - { fieldname: n, type: number, computed: "coalese(1)" }\npermissions',
    )
    assert.match(
      (await faultsWith(t, { 'config/doctypes/vehicle.yaml': computed })).join('\n'),
      /unknown function "coalese" \(did you mean "coalesce"\?\) at character 1/,
    )
  })

  it('are one for a folder that is not there', async () => {
    const { faults } = await readWholeSite('/nowhere/at/all')
    assert.deepEqual(
      faults.map(({ message }) => message),
      ['cannot read the site /nowhere/at/all: it does not exist'],
    )
  })
})
