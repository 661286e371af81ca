import type { AuditEvent } from '../audit/event.ts'
import { AppError } from '../core/errors.ts'
import { compileSchema, problemsText, type Check } from '../core/schema.ts'
import type { Services } from '../build/services.ts'
import type { Fits } from '../tools/tool.ts'

/** All that there is for operations; each takes what it names. */
export interface OperationContext extends Services {
  /** Aborted when the command line goes away. */
  readonly signal: AbortSignal
  /** Whether a daemon runs it (and not the command line itself, over the locked state). */
  readonly daemon: boolean
}

/** What one operation takes of it. */
export type Needs<Name extends keyof OperationContext> = Pick<OperationContext, Name>

/**
 * One thing that an operator can ask of the program. The same code answers whether a daemon runs
 * (over the control socket) or not (D11). An async iterable is sent item by item as it comes. The
 * command line takes the types of parameters and result from here, and nothing else.
 */
export interface Operation<
  Name extends string = string,
  Params = unknown,
  Result = unknown,
  Taken = OperationContext,
> {
  /** `noun.verb`. */
  readonly name: Name
  /** Changes something: told to the audit log as `cli.run`. */
  readonly writes: boolean
  readonly check: Check
  run(params: Params, taken: Taken): Promise<Result>
}

/** Pairs an operation's parameters with the code that runs on them; it reaches nothing that it does not name. */
export function defineOperation<
  const Name extends string,
  const Input extends Record<string, unknown>,
  Result,
  Taken = unknown,
>({
  name,
  writes = false,
  input,
  run,
}: {
  readonly name: Name
  readonly writes?: boolean
  readonly input: Input
  readonly run: (params: Fits<Input>, taken: Taken) => Promise<Result>
}): Operation<Name, Fits<Input>, Result, Taken> {
  return { name, writes, check: compileSchema(input), run }
}

/** Who asks, as the audit log tells it. */
export interface AskedBy extends Pick<AuditEvent, 'user' | 'request_id' | 'address'> {
  /** At a command line, the name of the operating system's user. */
  readonly operating_system_user?: string
}

/** Who asks at the command line of this machine. */
export function commandLineOf(actor: string): AskedBy {
  return { user: 'cli', operating_system_user: actor }
}

/** Checks the parameters, runs the operation, and audits it when it changes something. */
export async function runOperation(
  operation: Operation,
  params: unknown,
  { operating_system_user, ...asker }: AskedBy,
  context: OperationContext,
): Promise<unknown> {
  const problems = operation.check(params)
  // Without an audit event: nothing has been tried yet.
  if (problems.length > 0) throw new AppError('invalid', problemsText(problems))
  const { audit } = context
  // The log redacts what must not be kept, such as the new password.
  const event = {
    type: 'cli.run',
    ...asker,
    target: operation.name,
    data: { params, ...(operating_system_user !== undefined && { operating_system_user }) },
  }
  try {
    const result = await operation.run(params, context)
    if (operation.writes) await audit.record({ ...event, status: 'ok' })
    return result
  } catch (error) {
    if (operation.writes)
      await audit
        .record({ ...event, status: 'error', error: error instanceof Error ? error.message : String(error) })
        .catch(() => {})
    throw error
  }
}

/** Whether a result is a stream of items. */
export function isStream(result: unknown): result is AsyncIterable<unknown> {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
}
