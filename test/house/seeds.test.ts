/** Seeds are for trying: read by who checks them or fills an empty state, and told of when they will not be loaded. */
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import { operate } from '../../src/cli/control.ts'
import { checkSite } from '../../src/house/check-site.ts'
import { noMeans } from '../../src/house/check-sql.ts'
import { checksSeeds, trySeeds } from '../../src/house/seeding.ts'
import { readWholeSite } from '../../src/house/snapshot.ts'
import { faultText } from '#site/site-files.ts'
import { folders, noPython, runService } from '../cli/running-service.ts'

const file = 'config/seeds/more.yaml'

describe('seeds of a site', () => {
  it('are told of when they change after they were loaded, and are not even read then', async (t) => {
    const service = await runService(t, folders(t, [noPython]))
    const told = async (): Promise<readonly string[]> => {
      await operate(service.options, 'site.reload', {})
      return service.daemon.services.site.state().warnings.map(faultText)
    }
    assert.deepEqual(
      (await told()).filter((one) => one.includes('config/seeds/')),
      [],
    )
    writeFileSync(join(service.site, file), 'seeds: [ { this is no YAML')
    const [only, ...others] = (await told()).filter((one) => one.includes('config/seeds/'))
    assert.deepEqual(others, [])
    assert.match(
      only!,
      /^config\/seeds\/more\.yaml:1:1 is not loaded: seeds go into an empty state, which this one was until 20/,
    )
    assert.deepEqual(service.daemon.services.site.current().seeds, [])
    await assert.rejects(
      checkSite({ site: service.site, state: service.state }, false),
      /config\/seeds\/more\.yaml:1:/,
    )
    rmSync(join(service.site, file))
    assert.deepEqual(
      (await told()).filter((one) => one.includes('config/seeds/')),
      [],
    )
  })

  it('are tried by check, which names the line of what a rule, a link or another seed does not let in', async (t) => {
    const { site } = folders(t)
    // The first half of `check`, without the processes that try statements.
    const check = async (): Promise<void> => {
      const { reading, faults } = await readWholeSite(site, undefined, { ...noMeans, ...checksSeeds })
      assert.deepEqual(faults, [])
      await trySeeds(reading)
    }
    await check()
    const path = join(site, 'config/seeds/trading-company.yaml')
    const text = readFileSync(path, 'utf8')
    const add = (records: string): void =>
      writeFileSync(path, `${text}\n  - doctype: Customer\n    records:\n      - ${records}\n`)
    for (const [records, said] of [
      [
        '{ customer_name: Ada, credit_limit: -1 }',
        /:\d+:45 seeds\[\d+\]\.records\[0\]\.credit_limit: Customer, number 1: credit_limit must not be negative/,
      ],
      [
        '{ customer_name: Ada }\n      - { customer_name: Ada }',
        /records\[1\]: Customer, number 2: the name "Ada" cannot be used/,
      ],
    ] as const) {
      add(records)
      await assert.rejects(check(), (error) => error instanceof AppError && said.test(error.message))
    }
    writeFileSync(
      path,
      `${text}\n  - doctype: Opportunity\n    records:\n      - { title: A, customer: Nobody }\n`,
    )
    await assert.rejects(
      check(),
      /records\[0\]\.customer: Opportunity, number 1: customer: there is no Customer "Nobody"/,
    )
  })
})
