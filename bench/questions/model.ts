/**
 * Asks a real model the same questions through the official SDK of its provider, with the tools of the service as a host
 * gives them. The key stands in ANTHROPIC_API_KEY; which model, in QUESTIONS_MODEL. Not run without a key.
 */
import Anthropic from '@anthropic-ai/sdk'
import { isRight, type Outcome, type Question } from './asked.ts'
import type { Company, Reply } from './company.ts'

const mostTurns = 12
const answerForm =
  'Answer with one line at the end: ANSWER: and a JSON list of rows, each a list of the values asked for in the order of the question, such as ANSWER: [["North", 12]]. Names are the names of documents. Say ANSWER: null if it cannot be known.'

/** The model that is asked, or undefined without a key. */
export function modelOf(env: Readonly<Record<string, string | undefined>>): Model | undefined {
  const apiKey = env['ANTHROPIC_API_KEY']
  if (apiKey === undefined || apiKey === '') return undefined
  const baseURL = env['ANTHROPIC_BASE_URL']
  const client = new Anthropic({ apiKey, ...(baseURL !== undefined && { baseURL }) })
  return { name: env['QUESTIONS_MODEL'] ?? 'claude-sonnet-4-5', client }
}

export interface Model {
  readonly name: string
  readonly client: Anthropic
}

/** Lets the model ask until it answers, and judges its answer as any other: what it cannot know it may say. */
export async function outcomeOfModel(company: Company, asked: Question, model: Model): Promise<Outcome> {
  const tools = (await company.catalogue(asked.person)).map(({ name, description, inputSchema }) => ({
    name,
    description,
    input_schema: inputSchema as Anthropic.Tool['input_schema'],
  }))
  const system = `${await company.instructions(asked.person)}\n\n${answerForm}`
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: asked.text }]
  const counted = { calls: 0, errors: 0, argumentTokens: 0, answerTokens: 0 }
  let reply: Reply = { text: '', json: {}, failed: true, pictures: 0 }
  let answer: string | undefined
  for (let turn = 0; turn < mostTurns && answer === undefined; turn++) {
    const message = await model.client.messages.create({
      model: model.name,
      max_tokens: 2000,
      system,
      tools,
      messages,
    })
    counted.argumentTokens += message.usage.output_tokens
    counted.answerTokens += message.usage.input_tokens
    messages.push({ role: 'assistant', content: message.content })
    const results: Anthropic.ToolResultBlockParam[] = []
    for (const block of message.content) {
      if (block.type !== 'tool_use') continue
      reply = await company.call(asked.person, block.name, block.input)
      counted.calls++
      if (reply.failed) counted.errors++
      results.push({
        type: 'tool_result',
        tool_use_id: block.id,
        content: reply.text,
        is_error: reply.failed,
      })
    }
    if (results.length > 0) messages.push({ role: 'user', content: results })
    else answer = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')
  }
  const call = { tool: model.name, args: answer ?? '' }
  return { verdict: await verdictOf(company, asked, answer), ...counted, last: { call, reply } }
}

async function verdictOf(
  company: Company,
  asked: Question,
  answer: string | undefined,
): Promise<Outcome['verdict']> {
  const given = /ANSWER:\s*(.+)\s*$/.exec(answer ?? '')?.[1]
  if (given === undefined || given.trim() === 'null')
    return asked.truth === 'refused' ? 'right' : 'honest error'
  const rows = JSON.parse(given) as unknown[][]
  if (asked.truth !== 'refused' && isRight(rows, await company.truth(asked.person, asked.truth), asked.truth))
    return 'right'
  return 'silently wrong'
}
