/**
 * Questions of a running tool or prompt to its MCP client: one interface over the two ways that the
 * revisions have. A tool asks before it acts: in the modern way it runs again from the start when the
 * answers come.
 */
import { AppError } from '#leaf/errors.ts'
import type { Soon } from '#leaf/soon.ts'
import { AnswerPending, type AskClient, type ClientQuestion } from '../../tools/tool.ts'
import type { Call, ClientCapabilities } from '../call.ts'
import { isObject } from '#leaf/as-json.ts'
import { errorCodes, type Json, JsonRpcError } from '../json-rpc.ts'
import { declares } from '../session.ts'
import { callKey, type SuspendedCalls } from './suspended-calls.ts'

type Ask = Readonly<Record<string, ClientQuestion>>

/** Milliseconds to wait for an answer: long enough for a person to read and decide. */
const patienceMs = 300_000

/** The questions that one call can ask, and their outcome. */
export interface Asking {
  readonly ask: AskClient
  /** Works like `ask`, but only answers to a question from an earlier round of this very call count. */
  readonly confirm: AskClient
  /** True when the client can be asked through a form, or be sent to a page. */
  readonly can: (mode: 'form' | 'url') => boolean
  /** Milliseconds that the call may wait for a decision on a page, when its client is not kept waiting by it. */
  readonly wait?: { readonly milliseconds: number; readonly say: (message: string) => void }
  /** Returns the answer to the call in place of its result, when a question is still open or could not be put. */
  readonly interrupted: () => Soon<Json | undefined>
}

/** Returns the questions that one call may ask. JsonRpcError -32602 for a request state that is not ours, or was used before. */
export function askingFor(call: Call, suspended: SuspendedCalls): Soon<Asking> {
  const can: Asking['can'] = (mode) =>
    call.revision.elicitation.includes(mode) &&
    (call.revision.envelope || call.channel.open) &&
    declares(call.capabilities() ?? {}, 'elicitation', mode)
  return call.revision.envelope ? askInRounds(call, suspended, can) : askOnStream(call, suspended, can)
}

/** Asks in the legacy way: our requests go on the event stream of the call; each answer is a POST of its own. */
function askOnStream(call: Call, suspended: SuspendedCalls, can: Asking['can']): Asking {
  const ask: AskClient = async (asked) => {
    const open = askable(asked, call.capabilities())
    if (!call.channel.open || Object.keys(open).length === 0) throw cannotAsk(asked)
    const answers = Object.entries(open).map(
      async ([key, { method, params = {} }]) =>
        [key, await put(call, suspended, key, method, params)] as const,
    )
    return Object.fromEntries(await Promise.all(answers))
  }
  return { ask, confirm: ask, can, interrupted: () => undefined }
}

/** Sends one question and waits for its answer. AppError `unavailable` when none comes. */
async function put(
  call: Call,
  suspended: SuspendedCalls,
  key: string,
  method: string,
  params: Json,
): Promise<unknown> {
  const question = await suspended.question(call.principal, key, [key], {})
  call.channel.send({ jsonrpc: '2.0', id: question.id, method, params })
  await suspended.settled(question, patienceMs, call.stop.signal)
  const heard = await suspended.resume(key, question.id)
  if (heard?.state === 'answered') return heard.answers
  const why = call.stop.reason
    ? 'the call ended before the client answered'
    : 'the client did not answer in time'
  throw new AppError(
    'unavailable',
    heard?.state === 'denied' ? `the client refused: ${reasonOf(heard.answers)}` : why,
  )
}

function reasonOf(error: Json): string {
  return typeof error['message'] === 'string' ? error['message'] : 'no result'
}

/** Asks in the modern way: the call ends with `input_required` and comes again with the answers and our request state. */
async function askInRounds(call: Call, suspended: SuspendedCalls, can: Asking['can']): Promise<Asking> {
  const { requestState, inputResponses, _meta, ...rest } = call.params
  const key = callKey(call.principal, call.method, rest)
  const earlier = requestState === undefined ? undefined : await suspended.resume(key, requestState)
  if (requestState !== undefined && earlier?.state !== 'pending') {
    throw new JsonRpcError(
      errorCodes.invalidParams,
      'params.requestState: not valid for this request, expired or used before',
    )
  }
  const fresh = isObject(inputResponses) ? inputResponses : {}
  const answers: Record<string, unknown> = { ...earlier?.answers }
  let pending: Ask | undefined
  let failure: JsonRpcError | undefined

  const answered = (asked: Ask, mustBeAsked: boolean): Json => {
    const open = askable(asked, call.capabilities())
    if (Object.keys(open).length === 0) {
      failure = missingCapability(asked)
      throw cannotAsk(asked)
    }
    for (const [name, question] of Object.entries(open)) {
      // Answers to questions never asked are the client's own word: good enough for a tool, not for a confirmation.
      const heard = earlier ? earlier.asked.includes(name) : !mustBeAsked
      if (!(name in answers) && heard && fits(question, fresh[name])) answers[name] = fresh[name]
    }
    const missing = Object.entries(open).filter(([name]) => !(name in answers))
    if (missing.length > 0) {
      pending = Object.fromEntries(missing)
      throw new AnswerPending()
    }
    return Object.fromEntries(Object.keys(open).map((name) => [name, answers[name]]))
  }

  return {
    ask: async (asked) => answered(asked, false),
    confirm: async (asked) => answered(asked, true),
    can,
    interrupted: () => {
      if (failure) throw failure
      const open = pending
      return (
        open &&
        suspended
          .question(call.principal, key, Object.keys(open), answers)
          .then(({ id }) => ({ resultType: 'input_required', inputRequests: open, requestState: id }))
      )
    },
  }
}

/** Returns the questions of kinds that the client declared; the others go unanswered. */
export function askable(asked: Ask, capabilities: ClientCapabilities | undefined): Ask {
  return Object.fromEntries(
    Object.entries(asked).filter(([, { method, params }]) => {
      const mode = params?.['mode'] === 'url' ? 'url' : 'form'
      return method === 'elicitation/create'
        ? declares(capabilities ?? {}, 'elicitation', mode)
        : declares(capabilities ?? {}, capabilityOf(method))
    }),
  )
}

/** Returns the capability that a client must declare to be asked this way. */
function capabilityOf(method: ClientQuestion['method']): 'elicitation' | 'sampling' | 'roots' {
  if (method === 'elicitation/create') return 'elicitation'
  return method === 'roots/list' ? 'roots' : 'sampling'
}

/** True when an answer has the shape that its question wants; otherwise the question is asked again. */
export function fits(question: ClientQuestion, value: unknown): boolean {
  if (!isObject(value)) return false
  if (question.method === 'roots/list') return Array.isArray(value['roots'])
  if (question.method === 'sampling/createMessage') return 'content' in value
  if (value['action'] === 'decline' || value['action'] === 'cancel') return true
  if (value['action'] !== 'accept') return false
  const schema = question.params?.['requestedSchema']
  return !isObject(schema) || (isObject(value['content']) && fitsSchema(schema, value['content']))
}

/** Checks content against an elicitation schema, which is flat: only required names and primitive types matter. */
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

/** Returns the error for the tool, and through it for the model. */
export function cannotAsk(asked: Ask): AppError {
  const kinds = [...new Set(Object.values(asked).map(({ method }) => capabilityOf(method)))]
  return new AppError('invalid', `the MCP client cannot be asked: it did not declare ${kinds.join(', ')}`)
}

/** Returns the error for a modern client (MCP 2026-07-28: HTTP 400, -32021, the capabilities as an object). */
function missingCapability(asked: Ask): JsonRpcError {
  const kinds = Object.values(asked).map(({ method }) => [capabilityOf(method), {}] as const)
  return new JsonRpcError(
    errorCodes.missingCapability,
    'the client did not declare a capability that is needed here',
    {
      data: { requiredCapabilities: Object.fromEntries(kinds) },
    },
  )
}
