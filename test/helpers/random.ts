/**
 * fast-check whose draws are the same for the same commit: what CI draws, a run at home draws too, and another commit
 * draws anew. `TEST_SEED=17 npm test` asks for other draws.
 */
import process from 'node:process'
import { configureGlobal } from 'fast-check'
import { seedOfCommit } from './commit-seed.ts'

const asked = process.env['TEST_SEED']
configureGlobal({ seed: asked === undefined ? seedOfCommit() : Number(asked) })

export * from 'fast-check'
