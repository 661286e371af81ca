import { chownSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { Option } from 'commander'
import type { Command } from './command.ts'
import { systemClock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { createLog } from '../core/log.ts'
import { type CopyReport, readEmbedded, writeEmbedded } from '../store/copy.ts'
import { openPrivateFolder } from '../core/files.ts'
import { lockState } from '../store/lock.ts'
import { requireKnownSchema, schemaAfter } from '../store/migrate.ts'
import { migrations } from '../store/migrations.ts'
import type { State } from '../store/state.ts'
import { type Options, readOptions } from './options.ts'
import { print, table } from './output.ts'

type Kind = CopyReport['from']

/** `assistant-core store copy`: from the state folder into PostgreSQL, and back. */
export function addStoreCopyCommand(store: Command): void {
  store
    .command('copy')
    .description(
      'carry the whole state to the other kind of store and compare what arrived; stop the service first, and set store.kind afterwards',
    )
    .example('store copy --to postgres', 'store copy --to embedded --json')
    .addOption(
      new Option('--to <kind>', 'where to; it must hold no state yet')
        .choices(['postgres', 'embedded'])
        .makeOptionMandatory(),
    )
    .action(async (flags: { to: Kind }, command: Command) => {
      const options = readOptions(command)
      print(options.json, await copyState(options, flags.to), (report) =>
        [
          table(
            ['collection', 'documents', 'sha256'],
            report.collections.map(({ collection, documents, sha256 }) => [collection, documents, sha256]),
          ),
          `${report.documents} documents are in ${report.to} as they were in ${report.from}; set store.kind: ${report.to} in config/settings.yaml and start the service`,
        ].join('\n'),
      )
    })
}

async function copyState({ site, state: folder }: Options, to: Kind): Promise<CopyReport> {
  const [{ databaseUrl, readStoreSettings }, { readPostgres, writePostgres }] = await Promise.all([
    import('../build/open-state.ts'),
    import('../store/postgres-copy.ts'),
  ])
  const url = await databaseUrl(await readStoreSettings(site))
  const from = to === 'postgres' ? 'embedded' : 'postgres'
  if (from === 'embedded' && !existsSync(folder)) {
    throw new AppError('not_found', `there is no embedded state in ${folder}`)
  }
  await openPrivateFolder(folder, createLog('error', process.stderr))
  // The daemon of this folder holds the same lock.
  const lock = await lockState(folder, systemClock)
  try {
    let state: State
    if (from === 'embedded') {
      state = await readEmbedded(folder)
      requireKnownSchema(state.schema, schemaAfter(migrations))
    } else state = await readPostgres(url, schemaAfter(migrations))
    const collections =
      to === 'postgres' ? await writePostgres(state, url) : await writeEmbedded(state, folder, systemClock)
    if (to === 'embedded') giveToOwner(folder)
    const documents = collections.reduce((sum, one) => sum + one.documents, 0)
    return { from, to, schema: state.schema, documents, collections }
  } finally {
    lock.release()
  }
}

/** root copies for the service's user, who must be able to open the result. */
function giveToOwner(folder: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  for (const name of readdirSync(folder)) chownSync(join(folder, name), uid, gid)
}
