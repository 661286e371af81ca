import { didYouMean } from '../core/names.ts'
import { compileSchema, unknownKeyText } from '../core/schema.ts'
import { linesOf, settingsSchema, settingsVersion, type Settings } from '../core/settings.ts'
import { requiredDocument } from './check-document.ts'
import { checkSettings, warnOfSettings } from './check-settings.ts'
import { convert, droppedSettings, goneSettings, oldSection, oldSettings } from './old-settings.ts'
import type { Fault, SiteFiles, SourceDocument } from './site-files.ts'

/** Where the settings stand in a site. */
export const settingsFile = 'config/settings.yaml'

const check = compileSchema(settingsSchema, { defaults: true })

type Path = readonly (string | number)[]
type Section = Record<string, unknown>

/** Every setting at its default. */
export function defaultSettings(): Settings {
  const settings = {}
  check(settings)
  return settings as Settings
}

/**
 * The site's settings with defaults filled in and every list a list. Faults are collected; where
 * there is any, the settings answered are the defaults and must not be used.
 */
export function readSettings(files: SiteFiles, faults: Fault[], warnings: Fault[]): Settings {
  const document = requiredDocument(files, settingsFile, faults)
  if (!document) return defaultSettings()
  const before = faults.length
  const data = structuredClone(document.data ?? {})
  if (!isSection(data)) {
    faults.push(document.fault([], 'must be a map of settings'))
    return defaultSettings()
  }
  if (isNewer(data['version'])) {
    const message = `was written for a newer release; this one reads up to version ${settingsVersion}`
    faults.push(document.fault(['version'], message))
    return defaultSettings()
  }

  const origins = takeOldSection(document, data, faults, warnings)
  leaveOutGone(document, data, warnings)
  /** A value of the old layout is at fault where it stands, not where it would stand today. */
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
  return withLists(settings)
}

function isNewer(version: unknown): boolean {
  return typeof version === 'number' && version > settingsVersion
}

/** Moves what the old section says to where it stands today; answers which new setting came from where. */
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
  if (!isSection(old)) {
    faults.push(document.fault([oldSection], 'must be a map of settings'))
    return origins
  }
  for (const [key, value] of Object.entries(old)) {
    const path = [oldSection, key]
    const setting = oldSettings.get(key)
    if (!setting) {
      if (droppedSettings.has(key)) {
        warnings.push(document.fault(path, 'has no effect any more', 'key'))
      } else {
        faults.push(document.fault(path, `${unknownKeyText}${didYouMean(key, oldSettings.keys())}`, 'key'))
      }
      continue
    }
    const [section, name] = setting.to
    const target = (data[section] ??= {})
    if (!isSection(target)) continue
    if (name in target) {
      faults.push(document.fault(path, `is given again as ${section}.${name}; remove one of them`, 'key'))
      continue
    }
    const converted = convert(setting.kind, value)
    if ('problem' in converted) {
      faults.push(document.fault(path, converted.problem))
      continue
    }
    target[name] = converted.value
    origins.set(`${section}.${name}`, path)
  }
  return origins
}

function leaveOutGone(document: SourceDocument, data: Section, warnings: Fault[]): void {
  for (const path of goneSettings) {
    let section: unknown = data
    for (const name of path.slice(0, -1)) section = isSection(section) ? section[name] : undefined
    const key = path.at(-1)!
    if (!isSection(section) || !(key in section)) continue
    delete section[key]
    warnings.push(document.fault(path, 'has no effect any more; remove it', 'key'))
  }
}

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withLists(settings: Settings): Settings {
  const { server, oauth } = settings
  return {
    ...settings,
    server: {
      ...server,
      allowed_hosts: linesOf(server.allowed_hosts),
      allowed_origins: linesOf(server.allowed_origins),
      trusted_proxies: linesOf(server.trusted_proxies),
    },
    oauth: {
      ...oauth,
      allowed_public_client_origins: linesOf(oauth.allowed_public_client_origins),
      supported_scopes: linesOf(oauth.supported_scopes),
      native_redirect_schemes: linesOf(oauth.native_redirect_schemes),
    },
  }
}
