/** What a doctype's rules ask of a table that it cannot answer, or not soon. */
import { asserted, bound } from '#state/questions.ts'
import { residueOf, TableLayout, type TableShape } from '#state/postgres.ts'
import type { Doctype } from '../platform/platform.ts'
import type { CatalogueTable } from '#sources/catalogue.ts'

/** A place of the site that does not fit the database. */
export interface Problem {
  readonly file: string
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** The rows from which a table counts as large: what no index answers takes long there. */
export const large = 10_000

const nobody = { id: '', fullName: '', roles: new Set<string>() }

/** Finds rules that the database has no words for, which of a large table is a problem, and those that no index answers. */
export function ruleProblems(
  { rules, origin }: Doctype,
  table: CatalogueTable,
  shape: TableShape,
): { readonly problems: readonly Problem[]; readonly remarks: readonly Problem[] } {
  const layout = new TableLayout(shape)
  const problems: Problem[] = []
  const remarks: Problem[] = []
  for (const [index, { when }] of rules.entries()) {
    if (!when) continue
    const place = { file: origin!.file, path: ['permissions', index, 'when'] }
    const residue = residueOf(asserted(bound(when.term, { user: nobody, now: 0 })), layout)
    const message = `is asked of each row by itself, because ${residue}`
    if (residue !== undefined && table.rows > large)
      problems.push({
        ...place,
        message: `${message}: of ${Math.round(table.rows)} rows that takes too long`,
      })
    else if (residue !== undefined)
      remarks.push({ ...place, message: `${message}: lists of many rows take long` })
    const slow = when.fields.filter((name) => {
      const column = origin!.columns[name]
      return column && !column.through && !table.indexed.includes(column.column)
    })
    if (table.rows > large && !table.isView && slow.length > 0)
      remarks.push({ ...place, message: `no index of ${origin!.table} begins with ${slow.join(', ')}` })
  }
  return { problems, remarks }
}
