import { didYouMean } from '../core/names.ts'
import { AppError } from '../core/errors.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** For clients that show their model no resources: one file of a skill, as it stands. */
export const readSkill = defineTool({
  name: 'read_skill',
  title: 'Read a skill',
  description:
    'Returns the text of a skill (its SKILL.md), or of another file of the skill that the text refers to. list_skills gives the names.',
  category: 'read_only',
  input: objectWith(
    { name: { type: 'string', description: 'The name of the skill, as list_skills gives it.' } },
    { path: { type: 'string', description: 'A file of the skill; SKILL.md when left out.' } },
  ),
  example: { name: 'finding-documents' },
  async run({ name, path }, { principal, library }) {
    const skill = library.skill(principal, name)
    const file = path === undefined ? skill.files[0]! : skill.files.find((one) => one.path === path)
    if (!file) {
      const hint = didYouMean(
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
    // A use is counted with SKILL.md, not with each file that it leads to.
    if (file === skill.files[0]) await library.countSkillRead(name)
    return Buffer.from(file.bytes).toString('utf8')
  },
})
