/**
 * The contract of a store on any database that speaks PostgreSQL's protocol, by its address:
 * `STORE_DATABASE=postgresql://… node --import tsx --test packages/state/test/any-database.test.ts`.
 * What the database holds of a state is dropped before each test.
 */
import process from 'node:process'
import { Client } from 'pg'
import { storeContract } from './contract.ts'
import { openPostgres } from './open-postgres.ts'

const url = process.env['STORE_DATABASE']

if (url !== undefined)
  storeContract('a given database', async (t) => {
    const client = new Client(url.split('\n')[0])
    await client.connect()
    await client.query('DROP SCHEMA IF EXISTS assistant_core CASCADE')
    await client.end()
    return (clock) => openPostgres(t, url, { clock })
  })
