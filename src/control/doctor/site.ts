/** What `doctor` finds about the site: whether it can be used, and what its settings give away. */
import { isLocal } from '../../core/address.ts'
import { messageOf } from '../../core/errors.ts'
import type { Settings } from '../../core/settings.ts'
import { faultText } from '../../site/site-files.ts'
import { readWholeSite } from '../../build/snapshot.ts'
import { about, type Finding } from './finding.ts'
import type { DaemonHealth, Patient } from './patient.ts'
import { examineScheme } from './public-address.ts'

/** Reads the site as the daemon would; the settings are absent when it has faults. */
export async function examineSite({
  site,
  publicUrl,
  health,
}: Patient): Promise<{ settings?: Settings; findings: readonly Finding[] }> {
  try {
    const { reading, faults } = await readWholeSite(site)
    if (faults.length > 0)
      return {
        findings: [
          about('site.valid').failure(
            `${faults.length} faults; the first is ${faultText(faults[0]!)}`,
            'the last edit of the site broke it; a running daemon goes on with the one before',
            `mend them: assistant-core check --site ${site}`,
          ),
        ],
      }
    const { settings } = reading
    return {
      settings,
      findings: [
        about('site.valid').fine(
          `${site}: ${reading.people.users.size} users, ${reading.platform.doctypes.size} doctypes`,
        ),
        examineAddress(publicUrl ?? settings.public_url ?? published(health)),
        examineTestSettings(settings),
      ],
    }
  } catch (error) {
    return {
      findings: [
        about('site.valid').failure(messageOf(error), `${site} cannot be read`, 'name the site with --site'),
      ],
    }
  }
}

/** What the daemon was told on its command line, when that is more than this machine's own name. */
function published(health: DaemonHealth | undefined): string | null {
  return health === undefined || isLocal(new URL(health.public_url).hostname) ? null : health.public_url
}

function examineAddress(url: string | null): Finding {
  const check = 'site.public_url'
  if (url === null)
    return about(check).warning(
      'public_url is not set',
      'addresses are published as http://localhost, so only this machine can connect',
      'set public_url in config/settings.yaml to the address that clients use',
    )
  return examineScheme(check, new URL(url))
}

function examineTestSettings({ oauth, rate_limits: limits }: Settings): Finding {
  const on = [
    ...(oauth.skip_authorization ? ['oauth.skip_authorization is on'] : []),
    ...(oauth.developer_mode ? ['oauth.developer_mode is on'] : []),
    ...(limits.enabled ? [] : ['rate_limits.enabled is off']),
  ]
  return on.length === 0
    ? about('site.test_settings').fine('nothing that is for tests only is on')
    : about('site.test_settings').warning(
        on.join(', '),
        'this is for tests only and takes protection away',
        'give these settings their defaults',
      )
}
