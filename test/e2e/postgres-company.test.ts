import { describe, it } from 'node:test'
import { Client } from 'pg'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'
import { overACompany } from './over-a-company.ts'

describe('a company of fifty tables and a million rows in a PostgreSQL', { skip: noPostgres }, () => {
  it('is asked like documents, and answers what its tables hold', { timeout: 600_000 }, async (t) => {
    const server = await startPostgres(t)
    await server.admin.query('CREATE ROLE reader LOGIN')
    const url = new URL(await server.newDatabase())
    const owner = new Client({
      connectionString: url.href,
      types: { getTypeParser: () => String as never },
    })
    // The server stops before this test has ended the connection, when it fails.
    owner.on('error', () => undefined)
    await owner.connect()
    t.after(() => owner.end())
    const sql = async (text: string) => (await owner.query<Record<string, string | null>>(text)).rows
    await overACompany(t, {
      database: 'postgres',
      name: url.pathname.slice(1),
      port: Number(url.port),
      sql,
    })
  })
})
