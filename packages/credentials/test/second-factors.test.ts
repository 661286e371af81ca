import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { hr, opened, sales } from './opened.ts'

async function withApp(t: TestContext) {
  const here = await opened(t)
  const { secret } = here.secondFactors.begin(sales, 'the site')
  const code = (steps = 0): string =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: here.clock.now() + steps * 30_000 })
  return { ...here, secret, code, codes: await here.secondFactors.set(sales, secret, code()) }
}

/** How many of twenty at once are right. */
async function rightOf(spend: () => Promise<boolean>): Promise<number> {
  const all = await Promise.all(Array.from({ length: 20 }, spend))
  return all.filter(Boolean).length
}

describe('second factors', () => {
  it('are stored once their code is shown, and not before', async (t) => {
    const { secondFactors, accounts } = await opened(t)
    const { secret } = secondFactors.begin(sales, 'the site')
    await assert.rejects(secondFactors.set(sales, secret, '000'), { code: 'invalid' })
    await assert.rejects(secondFactors.set(sales, 'short', '000000'), { code: 'invalid' })
    assert.deepEqual(await accounts.of(sales), { id: sales })
  })

  it('count a code of the app once, sent once or twenty times at a time, and none of an older step', async (t) => {
    const { secondFactors, clock, code } = await withApp(t)
    assert.equal(await secondFactors.spend(sales, code()), false, 'the code that set it up is used')
    clock.pass(90)
    assert.equal(await secondFactors.spend(hr, code()), false)
    assert.equal(await rightOf(() => secondFactors.spend(sales, code())), 1)
    assert.equal(await secondFactors.spend(sales, code(-1)), false)
    assert.equal(await secondFactors.spend(sales, code(2)), false)
    assert.equal(await secondFactors.spend(sales, code(1)), true)
  })

  it('count a recovery code once, however it is typed, and no old one after new ones are made', async (t) => {
    const { secondFactors, accounts, codes } = await withApp(t)
    assert.equal(codes.length, 10)
    assert.equal(
      await rightOf(() => secondFactors.spend(sales, codes[0]!.toUpperCase().replaceAll('-', ' '))),
      1,
    )
    await secondFactors.renewCodes(sales)
    assert.equal(await secondFactors.spend(sales, codes[1]!), false)
    assert.equal((await accounts.of(sales)).recoveryCodes?.length, 10)
  })

  it('stay when the last one is needed, and take the recovery codes with them when it is not', async (t) => {
    const { secondFactors, accounts } = await withApp(t)
    const before = await accounts.of(sales)
    await assert.rejects(secondFactors.remove(sales, { totp: true }, true), { code: 'conflict' })
    assert.deepEqual(await accounts.of(sales), before)
    await secondFactors.remove(sales, { totp: true }, false)
    assert.deepEqual(await accounts.of(sales), { id: sales })
  })
})
