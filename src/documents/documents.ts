/** Business data: every function takes the principal first and asks the one evaluator. */
import type { Principal } from '../core/principal.ts'
import type { Ground } from './ground.ts'
import type { Platform } from './platform.ts'
import {
  type DocumentPage,
  type DocumentView,
  getDocument,
  type GetOptions,
  listDocuments,
  type ListQuery,
} from './reading.ts'
import { createDocument, type CreateOptions, type Saved } from './creating.ts'
import { type ReadableTables, type RowsPage, type RowsQuery, Tables } from './tables.ts'

/** The documents of one snapshot's platform. */
export interface Documents {
  readonly platform: Platform
  list(principal: Principal, query: ListQuery): Promise<DocumentPage>
  get(principal: Principal, doctype: string, name: string, options?: GetOptions): Promise<DocumentView>
  /** What the principal may read, as tables for analysis. */
  tables(principal: Principal): ReadableTables
  rows(principal: Principal, query: RowsQuery): Promise<RowsPage>
  create(
    principal: Principal,
    doctype: string,
    data: Readonly<Record<string, unknown>>,
    options?: CreateOptions,
  ): Promise<Saved>
}

/** The documents under one reading of the site. */
export function createDocuments(ground: Ground): Documents {
  const tables = new Tables(ground)
  return {
    platform: ground.platform,
    tables: (principal) => tables.of(principal),
    rows: (principal, query) => tables.rows(principal, query),
    list: (principal, query) => listDocuments(ground, principal, query),
    get: (principal, doctype, name, options = {}) => getDocument(ground, principal, doctype, name, options),
    create: (principal, doctype, data, options = {}) =>
      createDocument(ground, principal, doctype, data, options),
  }
}
