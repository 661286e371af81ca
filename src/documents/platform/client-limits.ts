import type { ClientLimit, Platform } from './platform.ts'

/**
 * Returns the limit of a client, whoever it acts for (`config/clients.yaml`). The narrowest fit wins: the id
 * itself before a pattern, a longer pattern before a shorter one.
 */
export function clientLimitOf(platform: Platform, id: string): ClientLimit | undefined {
  let narrowest: ClientLimit | undefined
  let length = -1
  for (const limit of platform.clientLimits)
    for (const pattern of limit.clients) {
      if (pattern === id) return limit
      if (pattern.length <= length || !pattern.endsWith('*') || !id.startsWith(pattern.slice(0, -1))) continue
      narrowest = limit
      length = pattern.length
    }
  return narrowest
}
