import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import { hash, verify } from '@node-rs/argon2'

/** What is compiled for a machine, and not made of JavaScript, loads into this Node and does its work. */
describe(`Node ${process.versions.node}`, () => {
  it('hashes passwords', async () => {
    assert.equal(await verify(await hash('secret'), 'secret'), true)
  })

  it('runs the SQL engine', async () => {
    const { DuckDBInstance } = await import('@duckdb/node-api')
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const { columnCount } = await connection.runAndReadAll('SELECT 1 AS a, 2 AS b')
    assert.equal(columnCount, 2)
    connection.closeSync()
  })

  it('draws pictures', async () => {
    const { Resvg } = await import('@resvg/resvg-js')
    const drawn = new Resvg('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="7"/>').render()
    assert.deepEqual([drawn.width, drawn.height], [9, 7])
  })
})
