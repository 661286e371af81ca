/** Audit logs over real stores in temporary folders. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { AuditLine } from '#audit/audit.ts'
import { listLogFiles, readLogFile } from '#audit/files/log-files.ts'
import { type AuditLog, openAudit } from '#audit/open-audit.ts'
import type { AuditSettings } from '#audit/settings.ts'
import type { EmbeddedStore } from '#state/embedded/store.ts'
import {
  afterwards,
  openStore,
  temporaryFolder,
  testClock,
  type TestClock,
  testLog,
  type TestLog,
} from '../../state/test/state-folder.ts'

export interface OpenedAudit {
  readonly audit: AuditLog
  readonly store: EmbeddedStore
  readonly state: string
  readonly folder: string
  readonly clock: TestClock
  readonly log: TestLog
  /** Closes both and opens them again. */
  readonly reopen: (settings?: Partial<AuditSettings>) => Promise<OpenedAudit>
}

/** An audit log that is closed, and its folder removed, after the test. */
export async function startAudit(
  t: TestContext,
  settings: Partial<AuditSettings> = {},
  state?: string,
  clock = testClock(),
): Promise<OpenedAudit> {
  const home = state ?? (await temporaryFolder(t))
  const log = testLog()
  const store = await openStore(t, home, { clock, log })
  const folder = join(home, 'audit')
  const audit = await openAudit({ folder, store, clock, log, settings })
  afterwards(t, () => audit.close())
  const close = async (): Promise<void> => {
    await audit.close()
    await store.close()
  }
  return {
    audit,
    store,
    state: home,
    folder,
    clock,
    log,
    reopen: async (next = settings) => {
      await close()
      return await startAudit(t, next, home, clock)
    },
  }
}

/** Lets days pass, each of which the store sees: a clock that jumps is not believed. */
export function daysLater({ clock, store }: Pick<OpenedAudit, 'clock' | 'store'>, days: number): void {
  for (let day = 0; day < days; day++) {
    clock.advance(86_400_000)
    store.believed.now()
  }
}

/** Every line of the log, parsed. */
export async function linesOf(folder: string): Promise<AuditLine[]> {
  const all: AuditLine[] = []
  for (const file of await listLogFiles(folder)) {
    for await (const lines of readLogFile(file)) {
      for (const { bytes } of lines) all.push(JSON.parse(bytes.toString('utf8')) as AuditLine)
    }
  }
  return all
}

/** The text of the file that is being written. */
export async function currentText(folder: string): Promise<string> {
  return await readFile((await listLogFiles(folder)).at(-1)!.path, 'utf8')
}
