/** Says what isolation it finds, for the test that starts it as root of a namespace. */
import process from 'node:process'
import { openAnalysis } from '../../src/analysis/analysis.ts'
import { silent } from '../documents/trading-company.ts'

const analysis = await openAnalysis({ log: silent })
process.stdout.write(JSON.stringify(analysis.probes))
await analysis.close()
