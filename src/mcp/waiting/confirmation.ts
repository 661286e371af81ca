/** Asks a person before a tool runs that the site wants confirmed. */
import { type Audit, eventOf } from '#audit/audit.ts'
import { pictured } from '#leaf/pictured.ts'
import { canonical } from '#leaf/strict-json.ts'
import type { OfferedTool } from '../../tools/gate/catalogue.ts'
import { ApprovalPending } from '../../tools/tool.ts'
import type { Asking } from './asking.ts'
import type { Call } from '../call.ts'
import { isObject } from '#leaf/as-json.ts'
import type { SuspendedCalls } from './suspended-calls.ts'

/** Milliseconds that a call waits for the decision once the client has sent its user to the page. */
const pageWaitMs = 25_000
const maxShownArguments = 2000

const formKey = 'assistant_core.confirm'
const pageKey = 'assistant_core.approve'

/** Returns undefined when the call may go on, else the reason. Throws through `asking` while the client is asked. */
export async function confirm(
  call: Call,
  asking: Asking,
  offered: OfferedTool,
  args: unknown,
  deps: { readonly audit: Audit; readonly suspended: SuspendedCalls },
): Promise<string | undefined> {
  const shown = pictured(canonical(args))
  // A client that cannot ask its user must not run the tool without asking, and nobody may confirm what
  // they cannot see whole: the page is the fallback.
  return offered.confirm === 'client' && asking.can('form') && shown.length <= maxShownArguments
    ? confirmInForm(call, asking, offered, args, shown, deps.audit)
    : confirmOnPage(call, asking, offered, args, deps.suspended)
}

/** Asks through a form: the person at the client checks a box; we rely on the client to show it honestly. */
async function confirmInForm(
  call: Call,
  asking: Asking,
  { tool }: OfferedTool,
  args: unknown,
  shown: string,
  audit: Audit,
): Promise<string | undefined> {
  const answers = await asking.confirm({
    [formKey]: {
      method: 'elicitation/create',
      params: {
        message: `${tool.title}: may the assistant run ${tool.name} with ${shown}?`,
        requestedSchema: {
          type: 'object',
          properties: {
            confirm: { type: 'boolean', title: 'Run it', description: 'Check to allow this one call.' },
          },
          required: ['confirm'],
        },
      },
    },
  })
  const said = answers[formKey]
  const yes =
    isObject(said) &&
    said['action'] === 'accept' &&
    isObject(said['content']) &&
    said['content']['confirm'] === true
  await audit.record(
    eventOf(call.principal, {
      type: 'tool.confirm',
      status: yes ? 'ok' : 'denied',
      target: tool.name,
      data: { arguments: call.snapshot.catalogue.recorded(tool.name, args) },
    }),
  )
  return yes ? undefined : `the user did not allow this call of ${tool.name}`
}

/** Asks on a page: the user decides in a browser of their own, which no client and no model can reach. */
async function confirmOnPage(
  call: Call,
  asking: Asking,
  offered: OfferedTool,
  args: unknown,
  suspended: SuspendedCalls,
): Promise<string | undefined> {
  const { name, title } = offered.tool
  let decision = await suspended.decision(call.principal, name, args)
  const recorded = call.snapshot.catalogue.recorded(name, args)
  const approval = decision ? undefined : await suspended.request(call.principal, offered, args, recorded)
  const url = approval && suspended.urlOf(approval)
  if (approval && (asking.can('url') || asking.wait)) {
    const message = `${title}: decide on this page whether the assistant may run ${name}.`
    const params = { mode: 'url', elicitationId: approval.id, url, message }
    asking.wait?.say(`${message} ${url}`)
    // The client only opens the page; its answer decides nothing.
    if (asking.can('url')) await asking.ask({ [pageKey]: { method: 'elicitation/create', params } })
    await suspended.settled(approval, asking.wait?.milliseconds ?? pageWaitMs, call.stop.signal)
    decision = await suspended.decision(call.principal, name, args)
  }
  if (decision === 'approved') return undefined
  if (decision === 'denied') return `the user denied this call of ${name}`
  throw new ApprovalPending(
    `this call needs the user's approval. Ask the user to open ${url} and decide there, ` +
      `then call ${name} again with exactly the same arguments. The request expires in 15 minutes.`,
  )
}
