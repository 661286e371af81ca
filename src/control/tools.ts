import { confirmationOf, matchesName, settingOf } from '../tools/read-tools.ts'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** Every tool there is, with what the site says about it and where. */
export const listToolSettings = defineOperation({
  name: 'tools.list',
  input: objectWith({}),
  run: async (_params, { site }: Needs<'site'>) => {
    const { tools, toolSettings } = site.current()
    return tools
      .map((tool) => {
        const setting = settingOf(toolSettings, tool.name)
        const profiles = toolSettings.profiles.filter((profile) =>
          profile.tools.some((pattern) => matchesName(pattern, tool.name)),
        )
        return {
          tool: tool.name,
          title: tool.title,
          category: setting?.category ?? tool.category,
          enabled: setting?.enabled ?? true,
          roles: setting?.roles ?? tool.roles ?? [],
          confirm: confirmationOf(toolSettings, tool.name),
          profiles: profiles.map(({ name }) => name),
          timeout_seconds: setting?.timeout_seconds ?? null,
          max_concurrent: setting?.max_concurrent ?? null,
          max_result_bytes: setting?.max_result_bytes ?? null,
          source: setting?.source ?? 'built in',
        }
      })
      .sort((a, b) => (a.tool < b.tool ? -1 : 1))
  },
})
