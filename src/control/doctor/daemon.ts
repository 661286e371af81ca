/** What `doctor` finds about the daemon: what it says of itself, or why none answers, and what the machine can compute. */
import { createServer } from 'node:net'
import { openAnalysis, type AnalysisProbe } from '../../analysis/analysis.ts'
import type { Log } from '../../core/log.ts'
import type { Settings } from '../../core/settings.ts'
import { lockHolder } from '../../store/lock.ts'
import { about, type Finding } from './finding.ts'
import type { Patient } from './patient.ts'

/** Asks who holds the state; without a daemon, whether its port is free. */
export async function examineDaemon(
  { state, health }: Patient,
  settings: Settings | undefined,
): Promise<readonly Finding[]> {
  if (health)
    return [
      about('daemon.running').fine(`it publishes ${health.public_url}`),
      ...health.checks.map(({ name, status, detail }) =>
        status === 'ok'
          ? about(`daemon.${name}`).fine(detail)
          : about(`daemon.${name}`)[status === 'failed' ? 'failure' : 'warning'](
              detail,
              'the running daemon says so',
              "assistant-core status and the daemon's log have the details",
            ),
      ),
    ]
  const holder = await lockHolder(state).catch(() => undefined)
  if (holder)
    return [
      about('daemon.running').failure(
        `process ${holder.pid} has the state since ${holder.since}, and its control socket does not answer`,
        "it is starting, stopping or stuck, or this is another user than the daemon's",
        "look at its log; run this as the daemon's user",
      ),
    ]
  return [
    about('daemon.running').unknown('no daemon runs on this state'),
    ...(settings ? [await examinePort(settings.server.host, settings.server.port)] : []),
  ]
}

function examinePort(host: string, port: number): Promise<Finding> {
  const check = about('port.free')
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(
        check.failure(
          `${host}:${port}: ${error.code ?? error.message}`,
          error.code === 'EADDRINUSE'
            ? 'another program listens there'
            : 'this user may not listen there, or the machine has no such address',
          'change server.host or server.port, or stop the other program (ss -ltnp)',
        ),
      ),
    )
    server.listen(port, host, () => server.close(() => resolve(check.fine(`${host}:${port} is free`))))
  })
}

/** Takes the word of a running daemon for what it can compute, and tries it here otherwise. */
export async function examineAnalysis(
  { health, log }: Patient,
  settings: Settings | undefined,
): Promise<readonly Finding[]> {
  const found = health?.probes ?? (settings ? await probeHere(settings, log) : undefined)
  if (!found) return [about('sandbox').unknown('the settings cannot be read')]
  return found.map(({ name, ok, detail, mend }) =>
    ok
      ? about(`analysis.${name}`).fine(detail)
      : about(`analysis.${name}`).warning(
          detail,
          'the tools that need it are not offered',
          mend ?? 'see systemd/README.md',
        ),
  )
}

async function probeHere(settings: Settings, log: Log): Promise<readonly AnalysisProbe[] | undefined> {
  const analysis = await openAnalysis({ settings: settings.analysis, log })
  await analysis.close()
  return analysis.probes
}
