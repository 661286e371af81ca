import { isObject } from '#leaf/as-json.ts'
import { didYouMean } from '#leaf/names.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { unknownKeyText } from '#leaf/schema.ts'
import { linesOf, settingsSchema, settingsVersion, type Settings } from '../core/settings.ts'
import { requiredDocument } from '#site/checking.ts'
import { checkSettings, warnOfSettings } from './check-settings.ts'
import { convert, goneSettings, oldSection, renames } from './old-settings.ts'
import type { Fault, SiteFiles, SourceDocument } from '#site/site-files.ts'

/** The path of the settings in a site. */
export const settingsFile = 'config/settings.yaml'

const check = fileSchema(settingsSchema, { defaults: true })

type Path = readonly (string | number)[]
type Section = Record<string, unknown>

/** Returns every setting at its default. */
export function defaultSettings(): Settings {
  const settings = {}
  check(settings)
  return settings as Settings
}

/**
 * Reads the site's settings with defaults filled in and every list a list. Faults are collected; when
 * there are any, the returned settings are the defaults and must not be used.
 */
export function readSettings(files: SiteFiles, faults: Fault[], warnings: Fault[]): Settings {
  const document = requiredDocument(files, settingsFile, faults)
  if (!document) return defaultSettings()
  const before = faults.length
  const data = structuredClone(document.data ?? {})
  if (!isObject(data)) {
    faults.push(document.fault([], 'must be a map of settings'))
    return defaultSettings()
  }
  const { version } = data
  if (typeof version === 'number' && version > settingsVersion) {
    const message = `was written for a newer release; this one reads up to version ${settingsVersion}`
    faults.push(document.fault(['version'], message))
    return defaultSettings()
  }

  const origins = takeOldSection(document, data, faults, warnings)
  leaveOutGone(document, data, warnings)
  /** Reports a fault of a value in the old layout at its real place, not at its place in today's layout. */
  const faultAt = (path: Path, message: string): Fault => {
    const origin = origins.get(path.slice(0, 2).join('.'))
    const at = message.startsWith(unknownKeyText) ? 'key' : 'value'
    return document.fault(origin ? [...origin, ...path.slice(2)] : path, message, at)
  }
  for (const { path, message } of check(data)) faults.push(faultAt(path, message))
  if (faults.length > before) return defaultSettings()

  const settings = data as Settings
  checkSettings(settings, (path, message) => faults.push(faultAt(path, message)))
  warnOfSettings(settings, (path, message) => warnings.push(faultAt(path, message)))
  return withLists(settings, settingsSchema as Shape) as Settings
}

/** Moves the values of the old section to their place in today's layout; returns the old path of each new setting. */
function takeOldSection(
  document: SourceDocument,
  data: Section,
  faults: Fault[],
  warnings: Fault[],
): Map<string, Path> {
  const origins = new Map<string, Path>()
  if (!(oldSection in data)) {
    if (typeof data['version'] === 'number' && data['version'] < settingsVersion) {
      warnings.push(document.fault(['version'], 'an older layout; run "assistant-core migrate"'))
    }
    return origins
  }
  const old = data[oldSection] ?? {}
  delete data[oldSection]
  warnings.push(
    document.fault([oldSection], 'the layout before version 2; run "assistant-core migrate"', 'key'),
  )
  if (!isObject(old)) {
    faults.push(document.fault([oldSection], 'must be a map of settings'))
    return origins
  }
  for (const [key, value] of Object.entries(old)) {
    const path = [oldSection, key]
    const renamed = renames.get(key)
    if (renamed === null) warnings.push(document.fault(path, 'has no effect any more', 'key'))
    if (renamed === undefined) {
      const used = [...renames.keys()].filter((name) => renames.get(name) !== null)
      faults.push(document.fault(path, `${unknownKeyText}${didYouMean(key, used)}`, 'key'))
    }
    const [section = '', name = ''] = renamed?.split('.') ?? []
    const target = renamed ? (data[section] ??= {}) : undefined
    if (!renamed || !isObject(target)) continue
    const converted = convert(renamed, value)
    if (name in target)
      faults.push(document.fault(path, `is given again as ${renamed}; remove one of them`, 'key'))
    else if ('problem' in converted) faults.push(document.fault(path, converted.problem))
    else {
      target[name] = converted.value
      origins.set(renamed, path)
    }
  }
  return origins
}

function leaveOutGone(document: SourceDocument, data: Section, warnings: Fault[]): void {
  for (const path of goneSettings) {
    let section: unknown = data
    for (const name of path.slice(0, -1)) section = isObject(section) ? section[name] : undefined
    const key = path.at(-1)!
    if (!isObject(section) || !(key in section)) continue
    delete section[key]
    warnings.push(document.fault(path, 'has no effect any more; remove it', 'key'))
  }
}

/** Makes every list a list, also one that is written as one value a line. */
function withLists(value: unknown, { type, properties = {} }: Shape): unknown {
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, withLists(one, properties[name] ?? {})]),
    )
  const isList = [type].flat().includes('array') && [type].flat().includes('string')
  return isList ? linesOf(value as string | readonly string[]) : value
}

interface Shape {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Shape>>
}

/** Returns a fault of one setting, at its place or where it would stand. */
export function settingFault(files: SiteFiles, path: readonly string[], message: string): Fault {
  const known = files.documents.get(settingsFile)?.fault(path, message)
  return known ?? { file: settingsFile, line: 1, column: 1, path: path.join('.'), message }
}
