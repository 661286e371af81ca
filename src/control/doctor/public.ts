/** `doctor --public URL`: the service as a client on the internet meets it, through every proxy in between. */
import type { Clock } from '../../core/clock.ts'
import { wrong, type Finding } from './finding.ts'
import { ask, type Inside } from './public-ask.ts'
import { examineBodyLimit, examineChallenge, examineCors } from './public-answers.ts'
import { examineDocuments, readDocuments } from './public-documents.ts'
import { examineAnswer, examineName, examineScheme, examineSetting, examineTls } from './public-address.ts'
import { examineWay } from './public-way.ts'

/** Looks at the public address; never throws for what it finds. */
export async function examinePublic(
  text: string,
  inside: Inside | undefined,
  clock: Clock,
): Promise<readonly Finding[]> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.origin !== text.replace(/\/$/, ''))
    return [
      wrong(
        'public.url',
        'failure',
        `"${text}"`,
        'this is not an address of the form https://host or https://host:port, in lower case',
        `write it as ${url ? url.origin : 'https://assistant.example.com'}`,
      ),
    ]
  const { origin } = url
  const findings: Finding[] = [examineScheme(url), examineSetting(origin, inside)]
  findings.push(await examineName(url))
  if (url.protocol === 'https:') findings.push(await examineTls(url, clock))
  const health = await ask(`${origin}/healthz`)
  if ('fault' in health)
    return [
      ...findings,
      wrong(
        'public.reachable',
        'failure',
        health.fault,
        'nothing answers at the address, or not in the way of HTTP',
        'look at the proxy, its log, and the firewall in front of it',
      ),
    ]
  findings.push(examineAnswer(health, clock))
  const documents = await readDocuments(origin)
  findings.push(...documents.findings)
  findings.push(...examineDocuments(origin, documents))
  findings.push(...(await examineChallenge(origin)))
  findings.push(await examineCors(origin))
  findings.push(await examineBodyLimit(origin))
  findings.push(...(await examineWay(url, inside)))
  return findings
}
