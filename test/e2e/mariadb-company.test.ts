import { describe, it } from 'node:test'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { noMariadb, startMariadb } from '../helpers/mariadb.ts'
import { overACompany } from './over-a-company.ts'

describe('a company of fifty tables and a million rows in a MariaDB', { skip: noMariadb }, () => {
  it('is asked like documents, and answers what its tables hold', { timeout: 600_000 }, async (t) => {
    const server = await startMariadb(t)
    const name = await server.newDatabase()
    const owner = await createConnection({
      socketPath: server.admin.config.socketPath!,
      user: 'root',
      charset: 'utf8mb4',
      database: name,
      typeCast: (field) => field.string(),
    })
    owner.on('error', () => undefined)
    t.after(() => owner.destroy())
    const sql = async (text: string) =>
      (await owner.query<(RowDataPacket & Record<string, string | null>)[]>(text))[0]
    await overACompany(t, { database: 'mariadb', name, port: server.port, sql })
  })
})
