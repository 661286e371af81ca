import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { SoftPasskey } from '../../../test/helpers/passkey.ts'
import { hr, opened, publicUrl, sales } from './opened.ts'

const from = '192.0.2.1'
const names = { user: 'Sales', site: 'the site' }

/** The options as a page holds them. */
function page(options: object): string {
  return `data-options="${JSON.stringify(options).replaceAll('"', '&quot;')}"`
}

async function withPasskey(t: TestContext) {
  const here = await opened(t)
  const device = new SoftPasskey()
  const { accounts, passkeys } = here
  const made = async (user: string): Promise<void> => {
    const options = await passkeys.creation('browser', await accounts.of(user), names)
    await passkeys.add('browser', user, 'phone', device.create(page(options), publicUrl), from)
  }
  await made(sales)
  const proof = async (origin = publicUrl): Promise<string> =>
    device.get(page(await passkeys.request('browser')), origin)
  return { ...here, made, proof }
}

describe('passkeys', () => {
  it('prove whose they are, and an answer proves it once', async (t) => {
    const { passkeys, accounts, proof, clock } = await withPasskey(t)
    clock.pass(60)
    const answer = await proof()
    assert.equal(await passkeys.prove('browser', answer, from), sales)
    const [passkey] = (await accounts.of(sales)).passkeys!
    assert.equal(passkey!.usedAt, clock.now())
    assert.equal(await passkeys.prove('browser', answer, from), undefined)
  })

  it('prove nothing to another browser, for another site, or too late', async (t) => {
    const { passkeys, proof, clock } = await withPasskey(t)
    assert.equal(await passkeys.prove('another browser', await proof(), from), undefined)
    assert.equal(await passkeys.prove('browser', await proof('https://evil.example'), from), undefined)
    const answer = await proof()
    clock.pass(601)
    assert.equal(await passkeys.prove('browser', answer, from), undefined)
    for (const nonsense of ['', '{}', '[]', '{"id":"x"}'])
      assert.equal(await passkeys.prove('browser', nonsense, from), undefined, nonsense)
  })

  it('belong to one account: nobody else adds one that somebody has', async (t) => {
    const { accounts, made } = await withPasskey(t)
    await assert.rejects(made(hr), { code: 'conflict' })
    assert.deepEqual(await accounts.of(hr), { id: hr })
    assert.equal((await accounts.of(sales)).passkeys?.length, 1)
  })
})
