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
  output: {
    type: 'object',
    required: ['skills'],
    properties: {
      skills: {
        type: 'array',
        items: {
          type: 'object',
          required: ['name', 'title', 'description', 'files'],
          properties: {
            name: { type: 'string' },
            title: { type: 'string' },
            description: { type: 'string' },
            files: { type: 'array', items: { type: 'string' } },
          },
        },
      },
    },
  },
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
