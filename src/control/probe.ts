import { defineOperation } from './operation.ts'

/** A nonce with which `doctor` may send one request through the public address. */
export const expectProbe = defineOperation({
  name: 'doctor.expect',
  input: { type: 'object', additionalProperties: false },
  run: (_params, { services }) => Promise.resolve({ nonce: services.probe.expect() }),
})

/** How that request arrived; null when it did not. */
export const probeArrival = defineOperation({
  name: 'doctor.arrival',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['nonce'],
    properties: { nonce: { type: 'string' } },
  },
  run: (params, { services }) => Promise.resolve({ arrival: services.probe.arrival(params.nonce) ?? null }),
})
