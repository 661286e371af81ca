/** What a database of others says when it refuses to be written to, in words for the caller, who learns nothing else of its inside. */
import { isDeepStrictEqual } from 'node:util'
import type { AppError } from '#leaf/errors.ts'
import type { StepThere } from '../tables-of-others.ts'
import type { Origin } from '../platform/platform.ts'
import { RefusedThere } from '../writing/refused-there.ts'
import { tableNameOf } from '#sources/catalogue.ts'
import { type Ask, faultOf } from '#sources/asking.ts'

/** Returns the refusal that an error of a database stands for; undefined for an error of another kind. */
export async function refusedThere(
  thrown: unknown,
  origin: Origin,
  ask: Ask,
  step: StepThere | 'lock',
): Promise<RefusedThere | undefined> {
  const fault = faultOf(thrown)
  if (!fault) return undefined
  const { code, table } = fault
  const [, own] = tableNameOf(origin.table, '')
  const refused = (why: string, fields: readonly string[] = [], as: AppError['code'] = 'invalid') =>
    new RefusedThere(why, { fields, code: as, cause: thrown })
  const columns = async (): Promise<readonly string[]> => {
    const [schema] = tableNameOf(origin.table, '')
    const known = Object.values(origin.columns).map(({ column }) => column)
    return await fault.columns(ask, [schema === '' ? null : schema, own], known).catch(() => [])
  }
  const fields = async (): Promise<readonly string[]> => fieldsOf(origin, await columns())
  switch (code) {
    case '23502':
      return refused('must have a value in its table', await fields())
    case '23505': {
      const taken = await columns()
      if (taken.length > 0 && taken.every((one) => origin.key.includes(one)))
        return refused('its name is taken; choose another', [], 'conflict')
      return refused('cannot be used, it must be unique in its table', fieldsOf(origin, taken))
    }
    case '23503': {
      if (table === undefined || table === own)
        return refused('leads to nothing that its table knows', await fields())
      return refused('other rows of the database refer to it; change or delete those first', [], 'conflict')
    }
    case '23514':
    case '23P01':
      return refused('has a value that its table does not allow', await fields())
    case '42501':
      return refused('the database does not allow it', [], 'forbidden')
    case '40001':
    case '40P01':
    case '55P03':
      return refused('somebody else is changing it there just now; try again', [], 'unavailable')
    default:
      if (code.startsWith('22') && fault.told) {
        const told = await fields()
        return told.length > 0 ? refused('does not fit its column', told) : refused(byRule)
      }
      if (code.startsWith('22')) {
        // The database does not say which of several.
        const written = writtenBy(origin, step)
        return refused(
          written.length > 1 ? 'may be what does not fit its column' : 'does not fit its column',
          written,
        )
      }
      return /^(?:P0|23|44|09|27|21)/.test(code) ? refused(byRule) : undefined
  }
}

const byRule = 'a rule of the database refuses it; its operator has been told'

function writtenBy({ write }: Origin, step: StepThere | 'lock'): readonly string[] {
  if (step === 'lock') return []
  const { before, after } = step
  const fields = (before ? write.change : write.create) ?? []
  return fields.filter((field) => !isDeepStrictEqual(before?.[field] ?? null, after?.[field] ?? null))
}

function fieldsOf({ columns }: Origin, names: readonly string[]): readonly string[] {
  return Object.entries(columns).flatMap(([field, { column, through }]) =>
    !through && names.includes(column) ? field : [],
  )
}
