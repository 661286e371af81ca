/**
 * Fuzzes the arguments of every tool: each right call in many other spellings (forms.ts, spellings.ts, arguments.ts). The service may understand a
 * spelling, and then answers what it answers to the right call; or it says that it does not, or what it doubts. Whatever
 * else it answers is confident and wrong, or confident and empty. What is tried on trial leaves no trace.
 */
import type { Company, Reply } from './company.ts'
import { doubtsOf, plain } from './asked.ts'
import { preparations, rightCalls, type RightCall } from './calls.ts'
import { argumentsOf } from './arguments.ts'
import { type Condition, formsOf, formsOfNotSet } from './forms.ts'
import type { Mutant } from './spellings.ts'

/** What was tried, and what was answered without a doubt and wrongly. */
export interface Fuzzed {
  readonly tries: number
  readonly understood: number
  readonly refused: number
  readonly doubted: number
  readonly wrong: readonly Wrong[]
}

export interface Wrong {
  readonly tool: string
  readonly label: string
  readonly args: unknown
  readonly meant: unknown
  readonly answer: string
}

/** Tries the mutants for which `chosen` says so, by their number. */
export async function fuzz(
  company: Company,
  person: string,
  chosen: (index: number) => boolean = () => true,
): Promise<Fuzzed> {
  const counted = { tries: 0, understood: 0, refused: 0, doubted: 0 }
  const wrong: Wrong[] = []
  const covered = new Set(rightCalls.map(({ tool }) => tool))
  const offered = new Set((await company.catalogue(person)).map(({ name }) => name))
  const left = [...offered].filter((name) => !covered.has(name))
  if (left.length > 0) throw new Error(`no right call of ${left.join(', ')}`)
  for (const call of preparations) {
    const { tool, args } = await resolved(company, person, call)
    const { failed, text } = await company.call(person, tool, args)
    if (failed) throw new Error(`${tool}: ${text}`)
  }
  let index = 0
  for (const call of rightCalls) {
    // A machine without a sandbox for Python does not offer its tool.
    if (call.tool === 'run_python_code' && !offered.has(call.tool)) continue
    const right = await resolved(company, person, call)
    const picked = mutantsOf(right).filter(() => chosen(index++))
    if (picked.length === 0) continue
    const written = plainCall(right)
    const meant = await company.call(person, right.tool, written)
    if (meant.failed) throw new Error(`${right.tool} ${JSON.stringify(written)}: ${meant.text}`)
    const facts = factsOf(right.tool, meant)
    const before = company.fingerprint()
    for (const { label, value: args } of picked) {
      const reply = await company.call(person, right.tool, args)
      counted.tries++
      if (reply.failed) counted.refused++
      else if (factsOf(right.tool, reply) === facts) counted.understood++
      else if (doubtsOf(reply.json) !== '' && doubtsOf(reply.json) !== doubtsOf(meant.json)) counted.doubted++
      else wrong.push({ tool: right.tool, label, args, meant: written, answer: reply.text.slice(0, 200) })
    }
    if (company.fingerprint() !== before)
      wrong.push({
        tool: right.tool,
        label: 'a trial changed something',
        args: {},
        meant: written,
        answer: '',
      })
  }
  return { ...counted, wrong }
}

/** A text "SQL: …" in the arguments stands for what it answers, such as the name of a note. */
async function resolved(company: Company, person: string, call: RightCall): Promise<RightCall> {
  const entries = Object.entries(call.args).map(async ([key, value]) => {
    if (typeof value !== 'string' || !value.startsWith('SQL: ')) return [key, value] as const
    return [key, (await company.truth(person, value.slice(5)))[0]![0]] as const
  })
  return { ...call, args: Object.fromEntries(await Promise.all(entries)) }
}

const objectOf = (conditions: readonly Condition[]) =>
  Object.fromEntries(conditions.map(([field, operator, value]) => [field, [operator, value]]))

function plainCall({ args, conditions, notSet }: RightCall): Readonly<Record<string, unknown>> {
  if (notSet !== undefined) return { ...args, filters: { [notSet]: ['is', 'not set'] } }
  return conditions ? { ...args, filters: objectOf(conditions) } : args
}

function mutantsOf(call: RightCall): Mutant[] {
  const { args, conditions = [], notSet } = call
  const whole = plainCall(call)
  const others = argumentsOf(call.tool, whole)
  const put = (filters: any): unknown => ({ ...args, filters })
  if (notSet !== undefined)
    return [...others, ...formsOfNotSet(notSet).map(({ label, value }) => ({ label, value: put(value) }))]
  if (conditions.length === 0) return others
  // Each form of the last condition; those before it stay as they are where both are an object or a list.
  const before = conditions.slice(0, -1)
  const forms = formsOf(String(args['doctype']), conditions.at(-1)!).flatMap(({ label, value }) => {
    if (before.length === 0) return [{ label, value: put(value) }]
    if (Array.isArray(value) && value.every((one) => Array.isArray(one) || typeof one === 'object'))
      return [{ label, value: put([...before, ...value]) }]
    if (Array.isArray(value) || typeof value !== 'object' || value === null) return []
    return [{ label, value: put({ ...objectOf(before), ...value }) }]
  })
  return [...others, ...forms]
}

const volatile = new Set(
  'total_rows attachment uploaded dashboard_id creation modified execution_time_ms execution_time query_executed next_cursor made time chart_id name score url warnings note notes hint suggestions did_you_mean parent run event_id id seq hash request_id'.split(
    ' ',
  ),
)
const named = new Set(['list_documents', 'get_document', 'search_link', 'fetch', 'search_doctype'])

/** What an answer says of the business, in one spelling; of a search, what stands first. */
function factsOf(tool: string, { json, text, pictures }: Reply): string {
  if (typeof json !== 'object' || Object.keys(json).length === 0) return text
  if (tool === 'search' || tool === 'search_documents' || tool === 'search_doctype')
    return JSON.stringify(json.results?.[0]?.name ?? json.results?.[0]?.id ?? json.results?.rows?.[0] ?? '')
  const only = (value: any): any => {
    if (Array.isArray(value)) return value.map(only)
    if (typeof value !== 'object' || value === null) return plain(value)
    const kept = Object.entries(value).filter(
      ([key]) => !volatile.has(key) || (key === 'name' && named.has(tool)),
    )
    return kept.map(([key, one]) => [key, only(one)])
  }
  return JSON.stringify([only(json), pictures])
}
