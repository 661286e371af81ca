/**
 * `doctor --attack URL`: what strangers and users without rights once took the service with, as far as it is harmless,
 * tried against one's own service. Nothing here makes, changes or keeps anything: what would be kept is asked for in a
 * way that is refused for another reason too, and the reason tells what held.
 */
import { attacksOfStrangers } from './attack-as-stranger.ts'
import { attacksOfUsers } from './attack-as-user.ts'
import { about, type Finding } from './finding.ts'
import { readOrigin, unreachable } from './public-address.ts'
import { ask } from './public-ask.ts'

/** Runs the table; with a token also what a user may try. Rows come in the order of the table. */
export async function attack(text: string, token: string | undefined): Promise<readonly Finding[]> {
  const url = readOrigin('attack.url', text)
  if (!(url instanceof URL)) return [url]
  const { origin } = url
  const health = await ask(`${origin}/healthz`)
  if ('fault' in health) return [unreachable('attack.reachable', health.fault)]
  const findings: Finding[] = []
  for (const { check, remedy, run } of [...attacksOfStrangers(origin), ...attacksOfUsers(origin, token)]) {
    const { held, detail } = await run()
    const name = `attack.${check}`
    if (held === undefined) findings.push(about(name).unknown(detail))
    else if (held) findings.push(about(name).fine(`held: ${detail}`))
    else
      findings.push(
        about(name).failure(
          `not held: ${detail}`,
          'the service, or what answers in front of it, does more for this than it should',
          remedy ?? 'bring the service up to date; if it is, look at the proxy in front of it',
        ),
      )
  }
  return findings
}
