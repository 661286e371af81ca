import { objectWith } from '../core/object-schema.ts'
import { compileSchema } from '../core/schema.ts'
import { type Settings, settingsSchema } from '../core/settings.ts'

/** What analysis may use of the machine. */
export type AnalysisSettings = Settings['analysis']

/** What holds without a site, for tests and for parts that are opened alone. */
export function defaultAnalysisSettings(): AnalysisSettings {
  const settings = {}
  const { analysis } = settingsSchema.properties
  compileSchema(objectWith({ analysis }), { defaults: true })(settings)
  return (settings as Settings).analysis
}
