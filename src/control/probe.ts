import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** A nonce with which `doctor` may send one request through the public address. */
export const expectProbe = defineOperation({
  name: 'doctor.expect',
  input: objectWith({}),
  run: (_params, { probe }: Needs<'probe'>) => Promise.resolve({ nonce: probe.expect() }),
})

/** How that request arrived; null when it did not. */
export const probeArrival = defineOperation({
  name: 'doctor.arrival',
  input: objectWith({ nonce: { type: 'string' } }),
  run: (params, { probe }: Needs<'probe'>) =>
    Promise.resolve({ arrival: probe.arrival(params.nonce) ?? null }),
})
