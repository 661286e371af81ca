/** `doctor --public URL`: the service as a client on the internet meets it, through every proxy in between. */
import type { Clock } from '../../core/clock.ts'
import type { Finding } from './finding.ts'
import { ask, type Inside } from './public-ask.ts'
import { examineBodyLimit, examineChallenge, examineCors } from './public-answers.ts'
import { examineDocuments, readDocuments } from './public-documents.ts'
import {
  examineAnswer,
  examineName,
  examineScheme,
  examineSetting,
  examineTls,
  readOrigin,
  unreachable,
} from './public-address.ts'
import { examineWay } from './public-way.ts'

/** Looks at the public address; never throws for what it finds. */
export async function examinePublic(
  text: string,
  inside: Inside | undefined,
  clock: Clock,
): Promise<readonly Finding[]> {
  const url = readOrigin('public.url', text)
  if (!(url instanceof URL)) return [url]
  const { origin } = url
  const findings: Finding[] = [examineScheme('public.url', url), examineSetting(origin, inside)]
  findings.push(await examineName(url))
  if (url.protocol === 'https:') findings.push(await examineTls(url, clock))
  const health = await ask(`${origin}/healthz`)
  if ('fault' in health) return [...findings, unreachable('public.reachable', health.fault)]
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
