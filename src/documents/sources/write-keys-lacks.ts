import { sourcesFile } from '../../settings/sources.ts'
import type { CatalogueTable } from '#sources/catalogue.ts'
import { type WriteKeys, wrongWith } from '#sources/write-keys.ts'
import type { Origin } from '../platform/platform.ts'
import type { Lack } from './lacks.ts'

/** Tells what keeps the table from being used: what would be kept in it is then refused. */
export function writeKeysLacks(
  { source, file }: Pick<Origin, 'source' | 'file'>,
  { keys, marks }: { readonly keys: WriteKeys | undefined; readonly marks: boolean },
  found: readonly CatalogueTable[],
): readonly Lack[] {
  const lack = { privilege: 'a fit table of write keys', needed: 'keys' } as const
  const makes = `sources write-keys ${source} prints what makes it`
  if (!keys) {
    const message = `needs a table there that tells after a crash what was done: name one as write_keys of "${source}" in ${sourcesFile}; ${makes}`
    return marks ? [{ ...lack, file, path: ['from', 'write'], message }] : []
  }
  const what = marks ? 'nothing is written' : 'no call with an idempotency key writes'
  return wrongWith(keys, found).map((wrong) => ({
    ...lack,
    file: sourcesFile,
    path: ['sources', source, 'write_keys'],
    message: `${keys.table} ${wrong}, so that ${what} to "${source}": ${makes}`,
  }))
}
