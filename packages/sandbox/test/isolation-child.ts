/** Says what isolation it finds, for the test that starts it as root of a namespace. */
import process from 'node:process'
import { openAnalysis } from '#sandbox/sandbox.ts'
import { silent } from '../../../test/documents/trading-company.ts'

const analysis = await openAnalysis({ log: silent })
process.stdout.write(JSON.stringify(analysis.probes))
await analysis.close()
