/**
 * Whether a model gets right answers: natural questions of companies that ship, each asked of the real program in the
 * obvious way, in a sloppy one, and in one that nobody can understand for sure; the right answer is SQL over the same
 * rows by another way (rows.ts). What is told as an answer and is not right is silently wrong. Then every tool is asked
 * with its arguments in other spellings (fuzz.ts). Tokens are those of o200k.
 *
 *   node --import tsx bench/questions/questions.ts [--program bin/assistant-core] [--tell]
 *
 * With ANTHROPIC_API_KEY a real model is asked the same questions (model.ts). `--program` measures another program of that kind, such as an older release; `--tell` tells what was not right.
 */
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { stopServerProcesses, table } from '../server-process.ts'
import { type Kind, kinds, type Outcome, outcomeOf, type Question } from './asked.ts'
import { clinic, clinicQuestions } from './clinic.ts'
import { type Company, type CompanyPlan, startCompany } from './company.ts'
import { drawCompany } from './drawn.ts'
import { fuzz } from './fuzz.ts'
import { modelOf, outcomeOfModel } from './model.ts'
import { trading, tradingQuestions } from './trading.ts'
import { workQuestions } from './trading-work.ts'

const { values } = parseArgs({
  options: {
    program: { type: 'string' },
    tell: { type: 'boolean' },
    short: { type: 'boolean' },
    seed: { type: 'string' },
  },
})
const program = resolve(values.program ?? join(import.meta.dirname, '../../bin/assistant-core'))
const seed = Number(values.seed ?? 1)
const drawn = drawCompany(seed)
const fixed = (plan: CompanyPlan, questions: readonly Question[]) => ({
  plan,
  questions: () => Promise.resolve(questions),
})
const companies = [
  fixed(trading, [...tradingQuestions, ...workQuestions]),
  fixed(clinic, clinicQuestions),
  { plan: drawn.plan, questions: (company: Company) => drawn.questions(company, 38) },
]
const model = modelOf(process.env)
const lines: (string | number)[][] = []

try {
  for (const { plan, questions } of companies) {
    const company = await startCompany(plan, program)
    const asked = await questions(company)
    const outcomes = new Map<Kind, Outcome[]>(kinds.map((kind) => [kind, []]))
    for (const one of asked)
      for (const kind of kinds) {
        const outcome = await outcomeOf(company, one, kind, countTokens)
        outcomes.get(kind)!.push(outcome)
        if (values.tell && outcome.verdict !== 'right') tell(one, kind, outcome)
      }
    for (const kind of kinds) lines.push([`${plan.name}, ${kind}`, ...sums(outcomes.get(kind)!)])
    if (model) {
      const answered: Outcome[] = []
      for (const one of asked) answered.push(await outcomeOfModel(company, one, model))
      lines.push([`${plan.name}, the model ${model.name}`, ...sums(answered)])
    }
    for (const person of Object.keys(plan.people)) {
      const tools = await company.catalogue(person)
      lines.push([
        `${plan.name}, ${tools.length} tools of ${person}`,
        '',
        '',
        '',
        '',
        '',
        '',
        '',
        countTokens(JSON.stringify(tools)),
      ])
    }
    if (plan === trading && !values.short) {
      const { wrong, ...fuzzed } = await fuzz(company, 'admin')
      for (const one of values.tell ? wrong : []) process.stderr.write(`wrong: ${JSON.stringify(one)}\n`)
      lines.push([
        `${plan.name}, other spellings`,
        fuzzed.tries,
        fuzzed.understood,
        fuzzed.refused + fuzzed.doubted,
        wrong.length,
        '',
        '',
        '',
        '',
      ])
    }
    company.close()
  }
} finally {
  await stopServerProcesses()
}
const head =
  'asked|tries|right|honest error|silently wrong|calls each|errors each|tokens asked|tokens answered'.split(
    '|',
  )
table(head, lines)

function sums(outcomes: readonly Outcome[]): (string | number)[] {
  const of = (verdict: Outcome['verdict']): number => outcomes.filter((one) => one.verdict === verdict).length
  const each = (key: 'calls' | 'errors' | 'argumentTokens' | 'answerTokens'): number =>
    outcomes.reduce((sum, one) => sum + one[key], 0) / outcomes.length
  return [
    outcomes.length,
    of('right'),
    of('honest error'),
    of('silently wrong'),
    each('calls').toFixed(2),
    each('errors').toFixed(2),
    Math.round(each('argumentTokens')),
    Math.round(each('answerTokens')),
  ]
}

function tell(asked: Question, kind: Kind, { verdict, last }: Outcome): void {
  const { call, reply } = last
  process.stderr.write(
    `${verdict} (${kind}): ${asked.text}\n  ${call.tool} ${JSON.stringify(call.args)}\n  ${reply.text.slice(0, 300)}\n`,
  )
}
