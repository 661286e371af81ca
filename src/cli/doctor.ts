import process from 'node:process'
import type { Command } from './command.ts'
import type { Inside } from '../control/doctor/public-ask.ts'
import type { Finding } from '../control/doctor/finding.ts'
import { AppError } from '../core/errors.ts'
import { askDaemon, type Answer } from './control.ts'
import { readOptions, readSecret, type Options } from './options.ts'
import { colourful, print, visible } from './output.ts'

const marks = { ok: 'ok     ', warning: 'warning', failure: 'FAILURE', unknown: 'unknown' } as const
const colours = { ok: 32, warning: 33, failure: 31, unknown: 36 } as const

/** `assistant-core doctor`: what is wrong, why, and what to do. */
export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'look for what is wrong on this machine, at the public address, and with what the service can be stopped',
    )
    .example(
      'doctor',
      'doctor --public https://assistant.example.com',
      'doctor --attack http://localhost:8000',
    )
    .option('--public <url>', 'also look at the service through this address, as a client does')
    .option('--attack <url>', 'instead try there what is harmless of what once took the service from others')
    .option('--token-stdin', 'with --attack, read the access token of a user from standard input')
    .action(async (flags: { public?: string; attack?: string; tokenStdin?: boolean }, command: Command) => {
      const options = readOptions(command)
      const findings =
        flags.attack === undefined
          ? await diagnose(options, flags.public)
          : await tryAttacks(flags.attack, flags.tokenStdin ? await readSecret('token') : undefined)
      const failures = findings.filter(({ status }) => status === 'failure').length
      print(options.json, { ok: failures === 0, findings }, () => findingsText(findings))
      // Warnings leave the exit code at 0: a machine may be run with them for good.
      if (failures > 0) throw new AppError('conflict', `${failures} of ${findings.length} checks failed`)
    })
}

async function tryAttacks(url: string, token: string | undefined): Promise<readonly Finding[]> {
  const { attack } = await import('../control/doctor/attack.ts')
  return await attack(url, token)
}

async function diagnose(options: Options, publicUrl: string | undefined): Promise<readonly Finding[]> {
  // A daemon that does not answer is a finding, not a failure of the command.
  const health = await askDaemon(options, 'daemon.health', {}).catch(() => undefined)
  // Loaded when asked for: the checks bring along most of the program.
  const [{ systemClock }, { createLog }, { examine }, { examinePublic }] = await Promise.all([
    import('../core/clock.ts'),
    import('../core/log.ts'),
    import('../control/doctor/machine.ts'),
    import('../control/doctor/public.ts'),
  ])
  const here = await examine({
    site: options.site,
    state: options.state,
    ...(options.publicUrl !== undefined && { publicUrl: options.publicUrl }),
    clock: systemClock,
    log: createLog('silent', process.stderr),
    health,
  })
  if (publicUrl === undefined) return here
  return [...here, ...(await examinePublic(publicUrl, health && insideOf(options, health), systemClock))]
}

/** The daemon's own view, with which a request through the public address is recognized at its arrival. */
function insideOf(options: Options, health: Answer<'daemon.health'>): Inside {
  return {
    publicUrl: health.public_url,
    expect: async () => (await askDaemon(options, 'doctor.expect', {}))!.nonce,
    arrival: async (nonce) => (await askDaemon(options, 'doctor.arrival', { nonce }))!.arrival,
  }
}

function findingsText(findings: readonly Finding[]): string {
  const colour = colourful(process.stdout)
  const mark = (status: Finding['status']): string =>
    colour ? `\u001b[${colours[status]}m${marks[status]}\u001b[0m` : marks[status]
  const lines = findings.flatMap(({ check, status, detail, cause, remedy }) => [
    `${mark(status)}  ${check.padEnd(28)}  ${visible(detail)}`,
    ...(cause === undefined ? [] : [`         because: ${visible(cause)}`]),
    ...(remedy === undefined ? [] : [`         do:      ${visible(remedy)}`]),
  ])
  const count = (status: Finding['status']): number => findings.filter((one) => one.status === status).length
  return [
    ...lines,
    `${count('ok')} well, ${count('warning')} warnings, ${count('failure')} failures, ${count('unknown')} unknown`,
  ].join('\n')
}
