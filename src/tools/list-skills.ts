import { listShape, objectShape, textShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** For clients that show their model no resources: which skills there are. */
export const listSkillsTool = defineTool({
  name: 'list_skills',
  title: 'List skills',
  description:
    'Lists the skills: short guides on how to do a kind of task well with these tools. Call it before an unfamiliar task, then read_skill for the one that fits.',
  category: 'read_only',
  input: objectWith({}, { tool: { type: 'string', description: 'Only skills that teach this tool.' } }),
  output: objectShape({
    skills: listShape(
      objectShape({ name: textShape, title: textShape, description: textShape, files: listShape(textShape) }),
    ),
  }),
  example: {},
  async run({ tool }, { principal, library }) {
    const skills = library.skills(principal).filter(({ tools }) => tool === undefined || tools.includes(tool))
    return {
      skills: skills.map(({ name, title, description, files }) => ({
        name,
        title,
        description,
        files: files.map(({ path }) => path),
      })),
    }
  },
})
