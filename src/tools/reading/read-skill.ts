import { meantOrKnown } from '#leaf/names.ts'
import { AppError } from '#leaf/errors.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Returns one file of a skill as it is, for clients that show their model no resources. */
export const readSkill = defineTool({
  name: 'read_skill',
  title: 'Read a skill',
  description: 'The text of a skill, or of another of its files. list_skills names them.',
  category: 'read_only',
  input: objectWith(
    { name: { type: 'string' } },
    { path: { type: 'string', description: 'Default SKILL.md.' } },
  ),
  example: { name: 'finding-documents' },
  async run({ name, path }, { principal, library }) {
    const skill = library.skill(principal, name)
    const file = path === undefined ? skill.files[0]! : skill.files.find((one) => one.path === path)
    if (!file) {
      const hint = meantOrKnown(
        path ?? '',
        skill.files.map((one) => one.path),
      )
      throw new AppError('not_found', `skill "${name}" has no file "${path}"${hint}`)
    }
    if (!file.text) {
      throw new AppError(
        'invalid',
        `"${file.path}" is not text (${file.mimeType}); read the resource ${file.uri}`,
      )
    }
    // A use is counted with SKILL.md, not with each file that it refers to.
    if (file === skill.files[0]) await library.countSkillRead(name)
    return Buffer.from(file.bytes).toString('utf8')
  },
})
