/** `doctor` on this machine: site, state, permissions, disk space, clock, ports, sandbox, fonts. Needs no running daemon. */
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { openAnalysis, fontFolders, hasFonts } from '#sandbox/sandbox.ts'
import { FileLedger, tailAudit } from '#audit/reading.ts'
import { troublesOf } from '../../house/own-troubles.ts'
import { readWholeSite } from '../../house/snapshot.ts'
import { isLocal } from '#leaf/address.ts'
import { isoTime, systemClock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import { createLog } from '#leaf/log.ts'
import type { Settings } from '../../core/settings.ts'
import { changesOnDisk } from '../../documents/told-outcomes.ts'
import { packageFolder } from '../../core/version.ts'
import { faultText } from '#site/site-files.ts'
import { lockHolder } from '#state/operations.ts'
import { broken, fine, runChecks, unknown, warning, type Checks, type Finding } from './finding.ts'
import type { Patient, ReadPatient } from './patient.ts'
import { checkScheme } from './public.ts'
import { stateChecks } from './state.ts'

/** Checks everything on this machine. Never throws for its findings. */
export async function examine(patient: Patient): Promise<readonly Finding[]> {
  return await runChecks(checks, { ...patient, ...(await readSite(patient)) })
}

/** Reads the site as the daemon would. */
async function readSite(patient: Patient): Promise<Omit<ReadPatient, keyof Patient>> {
  const { site, health } = patient
  try {
    const { reading, faults } = await readWholeSite(site)
    if (faults.length > 0)
      return {
        valid: broken(
          `${faults.length} faults; the first is ${faultText(faults[0]!)}`,
          'the last edit of the site broke it; a running daemon goes on with the one before',
          `mend them: assistant-core check --site ${site}`,
        ),
      }
    const { people, platform, settings } = reading
    const valid = fine(`${site}: ${people.users.size} users, ${platform.doctypes.size} doctypes`)
    const read = { valid, reading, settings }
    if (health) {
      // Daemons up to 2.14 do not report the second.
      const { own_tools: troubles, told_changes: toldChanges } = health
      return { ...read, troubles, remarks: health.row_security ?? [], toldChanges }
    }
    const { unknown, told: toldChanges } = await changesOnDisk(patient.state, systemClock)
    const { troubles, remarks } = await troublesOf(reading, patient)
    return {
      ...read,
      troubles: [...troubles.map(faultText), ...unknown],
      remarks: remarks.filter(({ ofListing }) => !ofListing).map(faultText),
      toldChanges,
    }
  } catch (error) {
    return { valid: broken(messageOf(error), `${site} cannot be read`, 'name the site with --site') }
  }
}

/** The share of a core from which a daemon is near what it can do; README names it. */
export const mostBusy = 0.8

const checks: Checks<ReadPatient> = {
  'runtime.node': () => {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
    const version = `Node.js ${process.versions.node}`
    if (major > 20 || (major === 20 && minor >= 19)) return fine(version)
    const cause = 'this release needs Node.js 22, 24, 26 or newer'
    return broken(version, cause, 'install a newer Node.js, for example from nodejs.org')
  },
  'site.valid': ({ valid }) => valid,
  'site.public_url': ({ settings, publicUrl, health }) => {
    // The daemon's URL from its command line, if that is more than this machine's own name.
    const published = health && !isLocal(new URL(health.public_url).hostname) ? health.public_url : null
    const url = publicUrl ?? settings?.public_url ?? published
    if (!settings) return undefined
    if (url !== null) return checkScheme(new URL(url))
    const cause = 'addresses are published as http://localhost, so only this machine can connect'
    const remedy = 'set public_url in config/settings.yaml to the address that clients use'
    return warning('public_url is not set', cause, remedy)
  },
  'site.test_settings': ({ settings }) => {
    if (!settings) return undefined
    const on = [
      settings.oauth.skip_authorization && 'oauth.skip_authorization is on',
      settings.oauth.developer_mode && 'oauth.developer_mode is on',
      !settings.rate_limits.enabled && 'rate_limits.enabled is off',
    ].filter((one) => one !== false)
    if (on.length === 0) return fine('nothing that is for tests only is on')
    const cause = 'this is for tests only and takes protection away'
    return warning(on.join(', '), cause, 'give these settings their defaults')
  },
  'site.own_tools': ({ troubles }) =>
    troubles?.length === 0
      ? fine('none of the tools and doctypes of the site is known to fail')
      : troubles?.map((text) =>
          warning(
            text,
            'what a tool or doctype of the site needs is not there, or is not as the site takes it to be',
            'mend it, or the file; the running daemon notices by itself, at once with assistant-core reload',
          ),
        ),
  'site.row_security': ({ remarks }) =>
    remarks?.map((text) =>
      warning(
        text,
        'PostgreSQL then shows all rows to everybody who may call the tool',
        'give the source a login that owns nothing, or a role; ALTER VIEW … SET (security_invoker = true)',
      ),
    ),
  'site.told_changes': ({ toldChanges }) => toldChanges?.map((text) => fine(text)),
  ...stateChecks,
  'clock.plausible': async ({ state, health }) => {
    const now = systemClock.now()
    const released = statSync(join(packageFolder, 'package.json')).mtimeMs
    const last = (await tailAudit(new FileLedger(join(state, 'audit')), 1).catch(() => []))[0]
    const ahead = last !== undefined && Date.parse(last.time) - now > 60_000
    const drift = health === undefined ? 0 : Math.abs(health.now - now)
    if (now >= released && !ahead && drift <= 60_000) return fine(isoTime(now))
    const told = ahead ? [`the audit log has been written to at ${last.time}`] : []
    return broken(
      [`it is ${isoTime(now)} here`, ...told].join('; '),
      'the clock stands wrong; tokens end too early or too late',
      'synchronise it: timedatectl set-ntp true',
    )
  },
  // Other programs can keep the time too, and leave no such trace.
  'clock.synchronised': () =>
    existsSync('/run/systemd/timesync/synchronized')
      ? fine('systemd-timesyncd keeps the time')
      : unknown('not by systemd-timesyncd; whether by another program cannot be seen'),
  'daemon.running': async ({ state, health }) => {
    if (health) return fine(`it publishes ${health.public_url}`)
    const holder = await lockHolder(state)
    if (!holder) return unknown('no daemon runs on this state')
    return broken(
      `process ${holder.pid} has the state since ${holder.since}, and its control socket does not answer`,
      "it is starting, stopping or stuck, or this is another user than the daemon's",
      "look at its log; run this as the daemon's user",
    )
  },
  // Daemons up to 2.15 do not report it.
  'daemon.busy': ({ health }) => (health?.busy === undefined ? undefined : checkBusy(health.busy)),
  daemon: ({ health }) =>
    // Tools of the site are reported one by one, with the site.
    health?.checks
      .filter(({ name }) => name !== 'own_tools')
      .map(({ name, status, detail }) => {
        const remedy = "assistant-core status and the daemon's log have the details"
        const wrong = (status === 'failed' ? broken : warning)(detail, 'the running daemon says so', remedy)
        return { check: `daemon.${name}`, ...(status === 'ok' ? fine(detail) : wrong) }
      }),
  'port.free': async ({ state, health, settings }) => {
    if (!settings || health || (await lockHolder(state).catch(() => undefined))) return undefined
    return await tryPort(settings.server)
  },
  sandbox: async ({ health, settings }) => {
    const probes = health?.probes ?? (settings && (await probesOf(settings)))
    if (!probes) return unknown('the settings cannot be read')
    return probes.map(({ name, ok, detail, mend = 'see systemd/README.md' }) => ({
      check: `analysis.${name}`,
      ...(ok ? fine(detail) : warning(detail, 'the tools that need it are not offered', mend)),
    }))
  },
  fonts: () =>
    hasFonts()
      ? fine('there are fonts for charts')
      : warning(
          `no font in ${fontFolders.join(', ')}`,
          'pictures of charts have no text',
          'apt-get install fonts-dejavu-core',
        ),
}

/** Tells whether that share of a core in each of five minutes is more than one daemon should have to do. */
export function checkBusy(share: number) {
  const percent = `${Math.round(share * 100)} %`
  if (share <= mostBusy) return fine('it has time to spare')
  return warning(
    `its thread was at work for at least ${percent} of each of the last five minutes`,
    'a daemon serves what one core does, however many there are',
    'from six to twelve cores on, let several share them and PostgreSQL: docs/several-daemons.md, "Several on one machine"',
  )
}

async function tryPort({ host, port }: Settings['server']) {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
    await once(server.close(), 'close')
    return fine(`${host}:${port} is free`)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return broken(
      `${host}:${port}: ${code ?? message}`,
      code === 'EADDRINUSE'
        ? 'another program listens there'
        : 'this user may not listen there, or the machine has no such address',
      'change server.host or server.port, or stop the other program (ss -ltnp)',
    )
  }
}

async function probesOf({ analysis: settings }: Settings) {
  const analysis = await openAnalysis({ settings, log: createLog('silent', process.stderr) })
  await analysis.close()
  return analysis.probes
}
