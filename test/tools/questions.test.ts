/**
 * The short form of the bench of questions: whoever asks as the manual says gets the right answer, and whoever asks
 * otherwise gets it or is told; nobody is answered confidently and wrongly.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { kinds, outcomeOf, type Question } from '../../bench/questions/asked.ts'
import { type Company, type CompanyPlan, startCompany } from '../../bench/questions/company.ts'
import { drawBy, drawCompany } from '../../bench/questions/drawn.ts'
import { fuzz } from '../../bench/questions/fuzz.ts'
import { trading, tradingQuestions } from '../../bench/questions/trading.ts'
import { stopServerProcesses } from '../../bench/server-process.ts'
import { seedOfCommit } from '../helpers/commit-seed.ts'

const program = join(import.meta.dirname, '../../bin/assistant-core')
const seed = Number(process.env['TEST_SEED'] ?? seedOfCommit())

const opened: Company[] = []
after(async () => {
  for (const company of opened) company.close()
  await stopServerProcesses()
})
async function open(plan: CompanyPlan): Promise<Company> {
  const company = await startCompany(plan, program)
  opened.push(company)
  return company
}

async function requireRight(company: Company, questions: readonly Question[]): Promise<void> {
  assert.ok(questions.length > 20)
  const wrong: string[] = []
  for (const one of questions)
    for (const kind of kinds) {
      const { verdict, last } = await outcomeOf(company, one, kind, () => 0)
      if (verdict === 'right' || (verdict === 'honest error' && kind !== 'obvious')) continue
      const { call, reply } = last
      wrong.push(
        `${verdict}: ${one.text}\n${call.tool} ${JSON.stringify(call.args)}\n${reply.text.slice(0, 500)}`,
      )
    }
  assert.deepEqual(wrong, [])
}

describe('a model that asks', () => {
  it('the trading company is never answered confidently and wrongly, nor are other spellings', async () => {
    const company = await open(trading)
    await requireRight(company, tradingQuestions)
    const draw = drawBy(seed)
    const { tries, wrong } = await fuzz(company, 'admin', () => draw.below(60) === 0)
    assert.ok(tries > 100)
    assert.deepEqual(wrong, [])
  })

  it('a company drawn by chance is never answered so either', async () => {
    const drawn = drawCompany(seed)
    const company = await open(drawn.plan)
    await requireRight(company, await drawn.questions(company, 21))
  })
})
