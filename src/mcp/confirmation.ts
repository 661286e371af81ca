/** Asks a person before a tool runs that the site says must be confirmed. */
import { actorOf } from '../audit/event.ts'
import { visible } from '../audit/render.ts'
import type { OfferedTool, ToolOutcome } from '../tools/catalogue.ts'
import type { WaitingCall } from '../core/waiting-call.ts'
import type { Approvals } from './approvals.ts'
import type { Asking } from './asking.ts'
import { type Call, isObject, type McpDeps } from './protocol.ts'
import { canonical } from './rounds.ts'

/** How long a call waits for the decision once the client has sent its user to the page. */
const pageWaitMs = 25_000
const maxShownArguments = 2000

const formKey = 'assistant_core.confirm'
const pageKey = 'assistant_core.approve'

/** Undefined when the call may go on; otherwise the outcome that takes its place. Throws through `asking` while the client is asked. */
export async function confirm(
  call: Call,
  offered: OfferedTool,
  args: unknown,
  asking: Asking,
  deps: Pick<McpDeps, 'audit'> & { readonly approvals: Approvals },
): Promise<ToolOutcome | undefined> {
  if (offered.confirm === 'never') return undefined
  const shown = visible(canonical(args))
  if (offered.confirm === 'client' && asking.can('form') && shown.length <= maxShownArguments) {
    return confirmInForm(call, offered, args, shown, asking, deps)
  }
  // A client that cannot ask its user must not be able to go without, and nobody may confirm what they
  // cannot see whole: the page is the fallback.
  return confirmOnPage(call, offered, args, asking, deps.approvals)
}

/** The person at the client checks a box; that the client shows it honestly is the client's promise. */
async function confirmInForm(
  call: Call,
  offered: OfferedTool,
  args: unknown,
  shown: string,
  asking: Asking,
  { audit }: Pick<McpDeps, 'audit'>,
): Promise<ToolOutcome | undefined> {
  const answers = await asking.confirm({
    [formKey]: {
      method: 'elicitation/create',
      params: {
        message: `${offered.tool.title}: may the assistant run ${offered.tool.name} with ${shown}?`,
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
  const answer = answers[formKey]
  const yes =
    isObject(answer) &&
    answer['action'] === 'accept' &&
    isObject(answer['content']) &&
    answer['content']['confirm'] === true
  await audit.record({
    ...actorOf(call.principal),
    type: 'tool.confirm',
    status: yes ? 'ok' : 'denied',
    target: offered.tool.name,
    data: { arguments: args as Record<string, unknown> },
  })
  return yes ? undefined : refusal(`the user did not allow this call of ${offered.tool.name}`)
}

/** The user decides in a browser of their own, where no client and no model can. */
async function confirmOnPage(
  call: Call,
  offered: OfferedTool,
  args: unknown,
  asking: Asking,
  approvals: Approvals,
): Promise<ToolOutcome | undefined> {
  const { name } = offered.tool
  const settled = (): ToolOutcome | 'go' | undefined => {
    if (approvals.take(call.principal, name, args)) return 'go'
    if (approvals.takeDenial(call.principal, name, args))
      return refusal(`the user denied this call of ${name}`)
    return undefined
  }

  const before = settled()
  if (before) return before === 'go' ? undefined : before
  const approval = approvals.request(call.principal, offered, args)
  if (asking.can('url')) {
    await sendToPage(offered, approval, asking, approvals)
    await approvals.decided(approval, pageWaitMs, call.signal)
    const after = settled()
    if (after) return after === 'go' ? undefined : after
  }
  return refusal(
    `this call needs the user's approval. Ask the user to open ${approvals.urlOf(approval)} and decide there, ` +
      `then call ${name} again with exactly the same arguments. The request expires in 15 minutes.`,
  )
}

/** The client only opens the page; whatever it answers decides nothing. */
async function sendToPage(
  offered: OfferedTool,
  approval: WaitingCall,
  asking: Asking,
  approvals: Approvals,
): Promise<void> {
  await asking.ask({
    [pageKey]: {
      method: 'elicitation/create',
      params: {
        mode: 'url',
        elicitationId: approval.id,
        url: approvals.urlOf(approval),
        message: `${offered.tool.title}: decide on this page whether the assistant may run ${offered.tool.name}.`,
      },
    },
  })
}

function refusal(text: string): ToolOutcome {
  return { text, content: [], isError: true }
}
