/** What models are told names only what their user has: shipped texts fit themselves, authors of own texts are warned. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { readWholeSite, type Snapshot } from '../../src/house/snapshot.ts'
import { roleKeyOf, type Principal } from '../../src/core/principal.ts'
import { describer } from '../../src/mcp/tools.ts'
import { faultText } from '#site/site-files.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { optionalTools } from '../../src/tools/gate/optional-tools.ts'
import { folders, mcpPath, runService } from '../cli/running-service.ts'
import { everyTool } from '../tools/every-tool.ts'
import { openOffice } from '../tools/offices.ts'
import { operate } from '../../src/cli/control.ts'

const allTools = [...builtInTools.map(({ name }) => name), ...optionalTools]

/** A user of the site, through a client that may use only these tools when there are any. */
function principalOf(snapshot: Snapshot, user: string, toolLimit?: readonly string[]): Principal {
  const { roles, fullName } = snapshot.people.find(user)!
  const roleKey = roleKeyOf(roles)
  return { user, fullName, roles, roleKey, scopes: [], requestId: 'test', ...(toolLimit && { toolLimit }) }
}

/** Every text that a model of this principal gets: prompts with each of their focuses, skills, descriptions of tools. */
async function textsFor(snapshot: Snapshot, principal: Principal): Promise<Map<string, string>> {
  const { library, catalogue } = snapshot.for(principal)
  const texts = new Map<string, string>()
  for (const template of library.prompts(principal)) {
    const focus = template.arguments.find((one) => one.type === 'select' && one.required)
    const named = template.arguments
      .filter((one) => one.type === 'string')
      .map((one) => [one.name, 'Some Name'])
    for (const value of focus?.allowedValues ?? ['']) {
      const args = { ...Object.fromEntries(named), ...(focus && { [focus.name]: value }) }
      texts.set(`${template.id} ${value}`, await library.preview(principal, template.id, args))
    }
  }
  for (const { name, description, files } of library.skills(principal)) {
    texts.set(`${name} description`, description)
    for (const { path, bytes } of files) texts.set(`${name}/${path}`, Buffer.from(bytes).toString('utf8'))
  }
  for (const mode of ['supplementary', 'replace'] as const) {
    const describe = describer({ catalogue, library }, principal, mode)
    for (const offered of catalogue.offered(principal))
      texts.set(`${offered.tool.name} (${mode})`, describe(offered))
  }
  return texts
}

function misguided(texts: ReadonlyMap<string, string>, has: ReadonlySet<string>): string[] {
  const lacks = allTools.filter((tool) => !has.has(tool))
  return [...texts].flatMap(([name, text]) =>
    lacks
      .filter((tool) =>
        (tool.includes('_') ? new RegExp(`\\b${tool}\\b`) : new RegExp(`\`${tool}\``)).test(text),
      )
      .map((tool) => `${name} names ${tool}`),
  )
}

async function shipped(t: TestContext): Promise<Snapshot> {
  const { daemon } = await runService(t)
  return daemon.services.site.current()
}

describe('guidance matches its reader', () => {
  it('names only tools that the user has, for each shipped user and with any tool taken away', async (t) => {
    const snapshot = await shipped(t)
    for (const user of ['admin@example.com', 'sales@example.com', 'hr@example.com']) {
      const limits = [undefined, ...(user === 'admin@example.com' ? allTools : [])]
      for (const gone of limits) {
        const principal = principalOf(
          snapshot,
          user,
          gone === undefined ? undefined : allTools.filter((tool) => tool !== gone),
        )
        const has = new Set(snapshot.catalogue.offered(principal).map(({ tool }) => tool.name))
        assert.equal(gone !== undefined && has.has(gone), false)
        const texts = await textsFor(snapshot, principal)
        assert.ok(texts.size > 60, `${texts.size} texts`)
        assert.deepEqual(misguided(texts, has), [], `${user} without ${gone}`)
      }
    }
  })

  it('costs a conversation few tokens: at most 1,900 of tools for sales, and 4,000 for who has them all', async (t) => {
    const snapshot = await shipped(t)
    // With the tools that a machine may lack.
    const { catalogue } = await openOffice(t, { tools: everyTool() })
    const most = { 'sales@example.com': 1900, 'admin@example.com': 4000 }
    for (const [user, tokens] of Object.entries(most)) {
      const principal = principalOf(snapshot, user)
      const { library } = snapshot.for(principal)
      const describe = describer({ catalogue, library }, principal, 'supplementary')
      // What a host hands to its model; titles, annotations and icons stay with the host.
      const tools = catalogue.offered(principal).map((offered) => ({
        name: offered.tool.name,
        description: describe(offered),
        inputSchema: offered.listedInput,
      }))
      const cost = countTokens(JSON.stringify(tools))
      t.diagnostic(`${user}: ${tools.length} tools, ${cost} tokens`)
      assert.ok(tools.length > 20 && cost <= tokens, `${user}: ${cost}`)
    }
  })

  it('leaves nothing out for a user who has everything', async (t) => {
    const snapshot = await shipped(t)
    const admin = principalOf(snapshot, 'admin@example.com', [...allTools])
    const { library } = snapshot.for(admin)
    const have = new Set(snapshot.catalogue.offered(admin).map(({ tool }) => tool.name))
    const expected = [...library.reading.skills.values()].filter(({ tools }) =>
      tools.every((one) => have.has(one)),
    )
    assert.deepEqual(
      library
        .skills(admin)
        .map(({ name }) => name)
        .sort(),
      expected.map(({ name }) => name).sort(),
    )
    const skill = library.skill(admin, 'counting-and-grouping')
    assert.match(Buffer.from(skill.files[0]!.bytes).toString('utf8'), /`aggregate` with a grouping and a sum/)
    assert.match(
      await library.preview(admin, 'crm_analysis', { analysis_focus: 'lead_pipeline' }),
      /`count_documents`/,
    )
  })

  it('lets everyone count documents', async (t) => {
    const snapshot = await shipped(t)
    for (const user of ['sales@example.com', 'hr@example.com'])
      assert.notEqual(
        typeof snapshot.catalogue.find(principalOf(snapshot, user), 'count_documents'),
        'string',
      )
  })

  it('gives a skill whose text was fitted a digest and a size of its own', async (t) => {
    const snapshot = await shipped(t)
    const [sales, admin] = ['sales@example.com', 'admin@example.com'].map((user) =>
      principalOf(snapshot, user),
    )
    const read = (principal: Principal): { digest: string; bytes: Uint8Array } =>
      snapshot.for(principal).library.skill(principal, 'changing-documents').files[0]!
    assert.notEqual(read(sales!).digest, read(admin!).digest)
    assert.ok(read(sales!).bytes.length < read(admin!).bytes.length)
    const { library } = snapshot.for(sales!)
    assert.notEqual(library.skillsDigest(sales!), library.skillsDigest(admin!))
  })

  it('saves a third of what descriptions cost in replace mode, and status shows both', async (t) => {
    const { daemon, options } = await runService(t)
    const snapshot = daemon.services.site.current()
    for (const user of ['admin@example.com', 'sales@example.com', 'hr@example.com']) {
      const principal = principalOf(snapshot, user)
      const { library, catalogue } = snapshot.for(principal)
      const cost = (mode: 'supplementary' | 'replace'): number => {
        const describe = describer({ catalogue, library }, principal, mode)
        return catalogue.offered(principal).reduce((sum, one) => sum + describe(one).length, 0)
      }
      const share = cost('replace') / cost('supplementary')
      assert.ok(share <= 0.67, `${user}: ${share}`)
      const plain = catalogue.offered(principal).reduce((sum, { tool }) => sum + tool.description.length, 0)
      assert.ok(cost('supplementary') > plain && plain > cost('replace'))
    }
    const { tools } = await operate(options, 'status', {})
    for (const set of tools) {
      assert.equal(set.tokens, set.tokens_by_skill_mode.supplementary)
      assert.ok(set.tokens_by_skill_mode.replace < set.tokens_by_skill_mode.supplementary)
    }
  })

  it('offers a built-in prompt or skill only where the doctypes that it is about exist, without a warning', async (t) => {
    const where = folders(t)
    for (const path of ['doctypes', 'reports', 'workflows', 'seeds'])
      rmSync(join(where.site, 'config', path), { recursive: true })
    const { faults, warnings } = await readWholeSite(where.site)
    assert.deepEqual([faults.map(faultText), warnings.map(faultText)], [[], []])
    const service = await runService(t, where)
    const snapshot = service.daemon.services.site.current()
    const principal = principalOf(snapshot, 'sales@example.com')
    const { library } = snapshot.for(principal)
    assert.deepEqual(
      library.prompts(principal).map(({ id }) => id),
      ['data_quality_audit', 'doctype_documentation'],
    )
    assert.ok(!library.skills(principal).some(({ name }) => name === 'sales-follow-up'))
    const texts = [...(await textsFor(snapshot, principal))]
    assert.deepEqual(
      texts.filter(([, text]) => /Sales Order|sales_order|Purchase Order/.test(text)),
      [],
    )
    const { access_token } = await operate(service.options, 'tokens.issue', { user: 'sales@example.com' })
    const answer = await fetch(`${service.url}${mcpPath}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${access_token}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    assert.doesNotMatch(await answer.text(), /Sales Order|sales_order/)
  })

  it('warns the author of a text, at its place, of what some of its readers do not have', async (t) => {
    const { site } = folders(t)
    const write = (path: string, text: string): void => {
      mkdirSync(join(site, path, '..'), { recursive: true })
      writeFileSync(join(site, path), text)
    }
    write(
      'prompts/own.md',
      '---\ntitle: Own\nstatus: Published\nvisibility: Public\n---\nFirst `count_documents`, then\n`analyze_business_data` of the doctype "Purchase Order". Then `analyze_business_data` again.\n',
    )
    write(
      'prompts/hidden.md',
      '---\ntitle: Hidden\nstatus: Draft\nvisibility: Private\nowner: admin@example.com\n---\n`analyze_business_data`\n',
    )
    write(
      'skills/own/SKILL.md',
      '---\nname: own\ndescription: Own words\ntools: [delete_document]\n---\nCall `delete_document`.\n',
    )
    write(
      'config/tools/weather.yaml',
      'tool: weather\ntype: http\ndescription: The weather. Use delete_document for nothing.\ninput: { type: object }\nurl: https://weather.example/\n',
    )
    const tools = join(site, 'config/tools.yaml')
    writeFileSync(
      tools,
      readFileSync(tools, 'utf8').replace(
        '      - list_documents\n',
        '      - list_documents\n      - weather\n',
      ),
    )
    const { faults, warnings } = await readWholeSite(site)
    assert.deepEqual(faults.map(faultText), [])
    const some = '2, such as hr@example.com (of 3 who read this)'
    assert.deepEqual(warnings.map(faultText).sort(), [
      `config/tools/weather.yaml:3:14 description: the tool "delete_document" is not offered to ${some}`,
      `prompts/own.md:7:2 the tool "analyze_business_data" is not offered to ${some}`,
      `prompts/own.md:7:41 the doctype "Purchase Order" is not open to ${some}`,
      `skills/own/SKILL.md:4:9 tools[0]: the tool "delete_document" is not offered to ${some}`,
      `skills/own/SKILL.md:6:7 the tool "delete_document" is not offered to ${some}`,
    ])
  })
})
