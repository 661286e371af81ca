/**
 * How a running tool or prompt asks its MCP client something: one interface over the two ways that the
 * revisions have. A tool asks before it acts: in the modern way it runs again from the start when the
 * answers come.
 */
import { AppError } from '../core/errors.ts'
import { AnswerPending, type AskClient, type ClientQuestion } from '../tools/tool.ts'
import { codes } from './codes.ts'
import { type Call, type ClientCapabilities, isObject, type Json, JsonRpcError } from './protocol.ts'
import type { Questions } from './questions.ts'
import type { Rounds } from './rounds.ts'
import { declares } from './session.ts'

type Ask = Readonly<Record<string, ClientQuestion>>

/** What one call can ask, and what became of it. */
export interface Asking {
  readonly ask: AskClient
  /** Like `ask`, but only answers to a question that we put in an earlier round of this very call count. */
  readonly confirm: AskClient
  /** Whether the client can be asked through a form, or be sent to a page. */
  readonly can: (mode: 'form' | 'url') => boolean
  /** The answer to the call in place of its result, when a question is still open or could not be put. */
  readonly interrupted: () => Json | undefined
}

/** Everything that one call may ask. JsonRpcError -32602 for a request state that is not ours, or spent. */
export function askingFor(call: Call, questions: Questions, rounds: Rounds): Asking {
  const can = (mode: 'form' | 'url'): boolean =>
    call.revision.elicitation.includes(mode) &&
    (call.revision.envelope || call.channel.open) &&
    declares(call.capabilities() ?? {}, 'elicitation', mode)
  return call.revision.envelope ? askInRounds(call, rounds, can) : askOnStream(call, questions, can)
}

/** Legacy: a request of ours on the event stream of the call; the answer is a POST of its own. */
function askOnStream(call: Call, questions: Questions, can: Asking['can']): Asking {
  const ask: AskClient = async (asked) => {
    const open = askable(asked, call.capabilities())
    if (!call.channel.open || Object.keys(open).length === 0) throw cannotAsk(asked)
    const answers = Object.entries(open).map(
      async ([key, question]) => [key, await questions.put(call, question)] as const,
    )
    return Object.fromEntries(await Promise.all(answers))
  }
  return { ask, confirm: ask, can, interrupted: () => undefined }
}

/** Modern: the call ends with `input_required` and comes again with the answers and our request state. */
function askInRounds(call: Call, rounds: Rounds, can: Asking['can']): Asking {
  const state = rounds.open(call)
  const fresh = isObject(call.params['inputResponses']) ? call.params['inputResponses'] : {}
  let pending: Ask | undefined
  let failure: JsonRpcError | undefined
  const answers: Record<string, unknown> = { ...state?.answers }

  const answer = (asked: Ask, mustBeAsked: boolean): Readonly<Record<string, unknown>> => {
    const open = askable(asked, call.capabilities())
    if (Object.keys(open).length === 0) {
      failure = missingCapability(asked)
      throw cannotAsk(asked)
    }
    for (const [key, question] of Object.entries(open)) {
      // Answers that come unasked are the client's own word: good enough for a tool, not for a confirmation.
      const heard = state ? state.asked.includes(key) : !mustBeAsked
      if (!(key in answers) && heard && fits(question, fresh[key])) answers[key] = fresh[key]
    }
    const missing = Object.entries(open).filter(([key]) => !(key in answers))
    if (missing.length > 0) {
      pending = Object.fromEntries(missing)
      throw new AnswerPending()
    }
    return Object.fromEntries(Object.keys(open).map((key) => [key, answers[key]]))
  }

  return {
    ask: async (asked) => answer(asked, false),
    confirm: async (asked) => answer(asked, true),
    can,
    interrupted: () => {
      if (failure) throw failure
      return pending && rounds.inputRequired(call, pending, answers)
    },
  }
}

/** The questions of kinds that the client declared; the others go unanswered. */
function askable(asked: Ask, capabilities: ClientCapabilities | undefined): Ask {
  return Object.fromEntries(
    Object.entries(asked).filter(([, { method, params }]) => {
      const mode = params?.['mode'] === 'url' ? 'url' : 'form'
      return method === 'elicitation/create'
        ? declares(capabilities ?? {}, 'elicitation', mode)
        : declares(capabilities ?? {}, capabilityOf(method))
    }),
  )
}

/** The capability that a client declares to be asked this way. */
function capabilityOf(method: ClientQuestion['method']): 'elicitation' | 'sampling' | 'roots' {
  if (method === 'elicitation/create') return 'elicitation'
  return method === 'roots/list' ? 'roots' : 'sampling'
}

/** Whether an answer has the shape that its question wants; otherwise it is asked again. */
function fits(question: ClientQuestion, value: unknown): boolean {
  if (!isObject(value)) return false
  if (question.method === 'roots/list') return Array.isArray(value['roots'])
  if (question.method === 'sampling/createMessage') return 'content' in value
  if (value['action'] === 'decline' || value['action'] === 'cancel') return true
  if (value['action'] !== 'accept') return false
  const schema = question.params?.['requestedSchema']
  return !isObject(schema) || (isObject(value['content']) && fitsSchema(schema, value['content']))
}

/** Elicitation schemas are flat: required names and primitive types are all there is to check. */
function fitsSchema(schema: Json, content: Json): boolean {
  const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : []
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  return (
    required.every((name) => name in content) &&
    Object.entries(content).every(([name, value]) => {
      const property = properties[name]
      return !isObject(property) || hasType(property['type'], value)
    })
  )
}

function hasType(type: unknown, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  return typeof type !== 'string' || typeof value === type
}

/** What the tool is told, and through it the model. */
function cannotAsk(asked: Ask): AppError {
  const kinds = [...new Set(Object.values(asked).map(({ method }) => capabilityOf(method)))]
  return new AppError('unavailable', `the MCP client cannot be asked: it did not declare ${kinds.join(', ')}`)
}

/** What a modern client is told (MCP 2026-07-28: HTTP 400, -32021, the capabilities as an object). */
function missingCapability(asked: Ask): JsonRpcError {
  const kinds = Object.values(asked).map(({ method }) => [capabilityOf(method), {}] as const)
  return new JsonRpcError(
    codes.missingCapability,
    'the client did not declare a capability that is needed here',
    {
      data: { requiredCapabilities: Object.fromEntries(kinds) },
    },
  )
}
