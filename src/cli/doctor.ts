import process from 'node:process'
import type { Finding } from '../control/doctor/finding.ts'
import { takes } from '#commands/description.ts'
import { pictured } from '#leaf/pictured.ts'
import { defineCommand } from './options.ts'
import { askDaemon } from './control.ts'
import { colourful } from '#commands/terminal.ts'

/** The text of each status, its colour on a terminal, and its name in counts. */
const statuses = {
  ok: ['ok     ', 32, 'well'],
  warning: ['warning', 33, 'warnings'],
  failure: ['FAILURE', 31, 'failures'],
  unknown: ['unknown', 36, 'unknown'],
} as const

/** `assistant-core doctor`: finds problems, their causes and remedies. */
export const doctorCommand = defineCommand({
  name: 'doctor',
  does: 'look for what is wrong on this machine and at the public address',
  examples: ['doctor', 'doctor --public https://assistant.example.com'],
  input: takes({
    public: '--public <url>: also look at the service through this address, as a client does',
  }),
  run: async ({ public: url }, options) => {
    // A daemon that does not answer is a finding, not a failure of the command.
    const health = await askDaemon(options, 'daemon.health', {}).catch(() => undefined)
    // Loaded on demand: the checks bring along most of the program.
    const { examine } = await import('../control/doctor/machine.ts')
    const { examinePublic } = await import('../control/doctor/public.ts')
    const findings = [...(await examine({ ...options, health }))]
    if (url !== undefined) {
      // The daemon's view, by which a request through the public address is recognized on arrival.
      const inside = health && {
        publicUrl: health.public_url,
        expect: async () => (await askDaemon(options, 'doctor.expect', {}))!.nonce,
        arrival: async (nonce: string) => (await askDaemon(options, 'doctor.arrival', { nonce }))!.arrival,
      }
      findings.push(...(await examinePublic(url, inside)))
    }
    return { ok: count(findings, 'failure') === 0, findings }
  },
  text: ({ findings }) => findingsText(findings),
  // Warnings leave the exit code at 0: a machine may run with them permanently.
  failure: ({ ok, findings }) => !ok && `${count(findings, 'failure')} of ${findings.length} checks failed`,
})

function count(findings: readonly Finding[], status: Finding['status']): number {
  return findings.filter((one) => one.status === status).length
}

function findingsText(findings: readonly Finding[]): string[] {
  const colour = colourful(process.stdout)
  const lines = findings.flatMap(({ check, status, detail, cause = '', remedy = '' }) => {
    const [mark, code] = statuses[status]
    const first = `${colour ? `\u001b[${code}m${mark}\u001b[0m` : mark}  ${check.padEnd(28)}  ${pictured(detail)}`
    return [
      first,
      cause && `         because: ${pictured(cause)}`,
      remedy && `         do:      ${pictured(remedy)}`,
    ]
  })
  const counts = (['ok', 'warning', 'failure', 'unknown'] as const).map(
    (status) => `${count(findings, status)} ${statuses[status][2]}`,
  )
  return [...lines.filter((line) => line !== ''), counts.join(', ')]
}
