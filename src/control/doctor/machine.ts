/** `doctor` on this machine: site, state, permissions, room, clock, ports, sandbox, fonts. Works while a daemon runs and while nothing does. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fontFolders, hasFonts } from '../../analysis/charts/charts.ts'
import { tailAudit } from '../../audit/search.ts'
import { isoTime } from '../../core/clock.ts'
import { packageFolder } from '../../core/version.ts'
import { examineAnalysis, examineDaemon } from './daemon.ts'
import { about, type Finding } from './finding.ts'
import type { Patient } from './patient.ts'
import { examineSite } from './site.ts'
import { examineSecrets, examineState } from './state.ts'

/** Looks at everything on this machine. Never throws for what it finds. */
export async function examine(patient: Patient): Promise<readonly Finding[]> {
  const { settings, findings } = await examineSite(patient)
  return [
    examineRuntime(),
    ...findings,
    ...(await examineState(patient, settings)),
    ...(settings ? examineSecrets(settings) : []),
    ...(await examineClock(patient)),
    ...(await examineDaemon(patient, settings)),
    ...(await examineAnalysis(patient, settings)),
    examineFonts(),
  ]
}

function examineRuntime(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 20 || (major === 20 && minor >= 15)
    ? about('runtime.node').fine(`Node.js ${process.versions.node}`)
    : about('runtime.node').failure(
        `Node.js ${process.versions.node}`,
        'this release needs Node.js 20.15 or newer',
        'install a newer Node.js, for example from nodejs.org',
      )
}

async function examineClock({ state, clock, health }: Patient): Promise<readonly Finding[]> {
  const now = clock.now()
  const released = statSync(join(packageFolder, 'package.json')).mtimeMs
  const last = (await tailAudit(join(state, 'audit'), 1).catch(() => []))[0]
  const ahead = last === undefined ? 0 : Date.parse(last.time) - now
  const drift = health === undefined ? 0 : Math.abs(health.now - now)
  if (now < released || ahead > 60_000 || drift > 60_000)
    return [
      about('clock.plausible').failure(
        `it is ${isoTime(now)} here${ahead > 60_000 ? `, but the audit log has been written to at ${last?.time}` : ''}`,
        'the clock stands wrong; tokens end too early or too late',
        'synchronise it: timedatectl set-ntp true',
      ),
    ]
  let synchronised = false
  try {
    statSync('/run/systemd/timesync/synchronized')
    synchronised = true
  } catch {
    // Other programs can keep the time too, and leave no such trace.
  }
  return [
    about('clock.plausible').fine(isoTime(now)),
    synchronised
      ? about('clock.synchronised').fine('systemd-timesyncd keeps the time')
      : about('clock.synchronised').unknown(
          'not by systemd-timesyncd; whether by another program cannot be seen',
        ),
  ]
}

function examineFonts(): Finding {
  return hasFonts()
    ? about('fonts').fine('there are fonts for charts')
    : about('fonts').warning(
        `no font in ${fontFolders.join(', ')}`,
        'pictures of charts have no text',
        'apt-get install fonts-dejavu-core',
      )
}
