import type { ClientLimit, Platform } from './platform.ts'

/**
 * What a client may use at most, whoever it acts for (`config/clients.yaml`). The narrowest fit wins: the id
 * itself before a pattern, a longer pattern before a shorter one.
 */
export function clientLimitOf(platform: Platform, id: string): ClientLimit | undefined {
  const matches = (pattern: string): boolean =>
    pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : pattern === id
  const fits = platform.clientLimits.flatMap((limit) =>
    limit.clients
      .filter(matches)
      .map((pattern) => ({ limit, length: pattern === id ? Infinity : pattern.length })),
  )
  return fits.sort((a, b) => b.length - a.length)[0]?.limit
}
