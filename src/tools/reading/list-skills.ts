import { didYouMean } from '#leaf/names.ts'
import { listShape, objectShape, textShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Lists the skills, for clients that show their model no resources. */
export const listSkillsTool = defineTool({
  name: 'list_skills',
  title: 'List skills',
  description: 'Short guides to kinds of tasks: look before an unfamiliar one, then read_skill.',
  category: 'read_only',
  unlisted: ['tool'],
  input: objectWith({}, { tool: { type: 'string', description: 'Only skills that teach this tool.' } }),
  output: objectShape(
    {
      skills: listShape(
        objectShape({
          name: textShape,
          title: textShape,
          description: textShape,
          files: listShape(textShape),
        }),
      ),
    },
    { note: textShape },
  ),
  example: {},
  async run({ tool }, { principal, library }) {
    const all = library.skills(principal)
    const skills = all.filter(({ tools }) => tool === undefined || tools.includes(tool))
    const taught = all.flatMap(({ tools }) => tools)
    return {
      ...(tool !== undefined &&
        skills.length === 0 && { note: `no skill teaches "${tool}"${didYouMean(tool, taught)}` }),
      skills: skills.map(({ name, title, description, files }) => ({
        name,
        title,
        description,
        files: files.map(({ path }) => path),
      })),
    }
  },
})
