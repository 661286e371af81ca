import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../src/core/principal.ts'
import { listSkillsTool } from '../../src/tools/reading/list-skills.ts'
import { readSkill } from '../../src/tools/reading/read-skill.ts'
import type { ToolContext } from '../../src/tools/tool.ts'
import { skillOf } from '../mcp/server.ts'

const binary = Buffer.from([0xff, 0x00])
const skills = [
  {
    ...skillOf('finding', { 'SKILL.md': '# Grüße\n', 'references/a.md': 'more', 'logo.png': binary }),
    tools: ['list_documents'],
  },
  skillOf('selling', { 'SKILL.md': '# Sell' }),
]

function contextFor(counted: string[]): ToolContext {
  const library = {
    skills: () => skills,
    skill: (_: Principal, name: string) => {
      const found = skills.find((skill) => skill.name === name)
      if (!found) throw new AppError('not_found', `no skill "${name}"`)
      return found
    },
    countSkillRead: async (name: string) => void counted.push(name),
  }
  return { library, principal: {} as Principal } as unknown as ToolContext
}

describe('the skill tools', () => {
  it('list the skills that the user may see, or those that teach one tool', async () => {
    const all = (await listSkillsTool.run({}, contextFor([]))) as {
      skills: { name: string; files: string[] }[]
    }
    assert.deepEqual(
      all.skills.map(({ name }) => name),
      ['finding', 'selling'],
    )
    assert.deepEqual(all.skills[0]!.files, ['SKILL.md', 'references/a.md', 'logo.png'])
    const some = (await listSkillsTool.run({ tool: 'list_documents' }, contextFor([]))) as {
      skills: unknown[]
    }
    assert.equal(some.skills.length, 1)
  })

  it('read a skill byte for byte and count it, and a further file without counting', async () => {
    const counted: string[] = []
    assert.equal(await readSkill.run({ name: 'finding' }, contextFor(counted)), '# Grüße\n')
    assert.equal(
      await readSkill.run({ name: 'finding', path: 'references/a.md' }, contextFor(counted)),
      'more',
    )
    assert.deepEqual(counted, ['finding'])
  })

  it('refuse unknown skills, unknown files and files that are no text, and count nothing', async () => {
    const counted: string[] = []
    const context = contextFor(counted)
    await assert.rejects(readSkill.run({ name: 'nothing' }, context), { code: 'not_found' })
    await assert.rejects(readSkill.run({ name: 'finding', path: '../secret' }, context), {
      code: 'not_found',
    })
    await assert.rejects(
      readSkill.run({ name: 'finding', path: 'references/b.md' }, context),
      /did you mean "references\/a\.md"\?/,
    )
    await assert.rejects(readSkill.run({ name: 'finding', path: 'logo.png' }, context), /is not text/)
    assert.deepEqual(counted, [])
  })
})
