import type { Principal } from '../../core/principal.ts'

/** Signs an assertion of the caller's identity, which one audience may believe for a minute. */
export type Vouch = (principal: Principal, audience: string) => Promise<string>

/** The place for the assertion in a request; `audience` overrides the service's address as its audience. */
interface Wanted {
  readonly header?: string
  readonly meta?: string
  readonly audience?: string
}

/** Returns the part of a request that asserts the caller: empty, unless the site names a place for it. */
export async function vouchedFor(
  wanted: Wanted | undefined,
  service: string,
  principal: Principal,
  vouch: Vouch,
): Promise<Readonly<Record<'headers' | 'meta', Readonly<Record<string, string>>>>> {
  if (!wanted) return { headers: {}, meta: {} }
  const { header, meta, audience = service } = wanted
  const assertion = await vouch(principal, audience)
  const isBearer = header?.toLowerCase() === 'authorization'
  return {
    headers: header === undefined ? {} : { [header]: isBearer ? `Bearer ${assertion}` : assertion },
    meta: meta === undefined ? {} : { [meta]: assertion },
  }
}
