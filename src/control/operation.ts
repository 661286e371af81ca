import type { AuditEvent } from '#audit/audit.ts'
import type { Asking } from '#commands/asking.ts'
import type { CommandDescription, Input, ParamsOf } from '#commands/description.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import type { ServiceName, Services } from '../house/services.ts'

/** The services that an operation or a page needs. */
export type Needs<Name extends keyof Services> = Pick<Services, Name>

/** The operator who asks, and the end of the request. */
export interface AskingOperator extends Asking {
  /** The user for the audit log; absent at a command line, where the caller is no user of the site. */
  readonly user?: Pick<AuditEvent, 'user' | 'request_id' | 'address'>
}

/**
 * An operation that an operator can ask of the program, with its command. The same code answers whether a daemon runs
 * (over the control socket) or not (D11). An async iterable is sent item by item as it comes. The command line reads
 * every operation to know its commands, so `run` itself loads large modules.
 */
export interface Operation<
  Name extends string = string,
  Params = unknown,
  Result = unknown,
  Need extends ServiceName = ServiceName,
> extends CommandDescription<Params, Result> {
  /** The name: `noun.verb`. */
  readonly name: Name
  /** The words of the command, where they differ from the name. Without `does` there is no command. */
  readonly as?: string
  /** True if it changes something: recorded in the audit log as `cli.run`. */
  readonly writes?: boolean
  /** The services that it needs: without a daemon, no others are opened. */
  readonly needs: readonly Need[]
  run(params: Params, taken: Needs<Need>, asking: AskingOperator): Promise<Result>
}

/** Pairs an operation's parameters with the code that runs on them; it reaches only the services that it names. */
export function defineOperation<
  const Name extends string,
  const Asked extends Input,
  Result,
  const Need extends ServiceName,
>(
  operation: { readonly input: Asked } & Operation<Name, ParamsOf<Asked>, Result, Need>,
): { readonly input: Asked } & Operation<Name, ParamsOf<Asked>, Result, Need> {
  return operation
}

/** Checks the parameters, runs the operation, and audits it when it changes something. */
export async function runOperation(
  operation: Operation,
  params: unknown,
  services: Needs<ServiceName>,
  asking: AskingOperator,
): Promise<unknown> {
  await requireFit(operation.input, params)
  const { audit } = services
  // The log redacts values that must not be kept, such as the new password.
  const event = {
    type: 'cli.run',
    ...(asking.user ?? { user: 'cli' }),
    target: operation.name,
    data: { params, ...(!asking.user && { operating_system_user: asking.actor }) },
  }
  try {
    const result = await operation.run(params, services, asking)
    if (operation.writes) await audit.record({ ...event, status: 'ok' })
    return result
  } catch (error) {
    if (operation.writes)
      await audit.record({ ...event, status: 'error', error: messageOf(error) }).catch(() => {})
    throw error
  }
}

/** Throws AppError `invalid` for parameters that do not fit, before anything is tried or audited. */
async function requireFit(input: Input, params: unknown): Promise<void> {
  const mustSay = 'minProperties' in input || (input['required'] as readonly string[]).length > 0
  // Most commands say nothing, and do without the compiler of schemas.
  if (!mustSay && JSON.stringify(params) === '{}') return
  const { compileSchema, problemsText } = await import('#leaf/schema.ts')
  const problems = compileSchema(input)(params)
  if (problems.length > 0) throw new AppError('invalid', problemsText(problems))
}

/** The name of the control socket in a state folder. */
export const controlSocketName = 'control.sock'
