import { AppError } from '#leaf/errors.ts'
import { type EffectName, effectNames, effects, settableEffects } from '../core/effects.ts'
import { assistantUser, hasRole, principalFor } from '../core/principal.ts'
import type { Offer } from '../tools/gate/catalogue.ts'
import type { ToolSetting } from '../tools/gate/read-tools.ts'
import type { Tool } from '../tools/tool.ts'
import { takes } from '#commands/description.ts'
import { defineOperation, type Needs } from './operation.ts'
import { columns, table } from '#commands/terminal.ts'
import { pictured } from '#leaf/pictured.ts'
import { knownUser } from '#credentials/holders.ts'
import { clientOf } from './whose.ts'

/** The services that an explanation needs. */
const askedServices = ['people', 'clients', 'clientLimits', 'site'] as const

/** The operations that explain decisions on access with the deciding line of the site, from the evaluator itself. */
export const accessOperations = [
  defineOperation({
    name: 'tools.list',
    as: 'access tools',
    does: 'list the tools, and what else programs do, with what the site says about each and where',
    input: takes({}),
    needs: ['site'],
    run: async (_params, { site }) => {
      const { confirmationOf, matchesName, settingOf } = await import('../tools/gate/read-tools.ts')
      const { tools, toolSettings } = site.current()
      const row = (one: Pick<Tool, 'name' | 'title' | 'category' | 'roles'>, setting?: ToolSetting) => ({
        tool: one.name,
        title: one.title,
        category: setting?.category ?? one.category,
        enabled: setting?.enabled ?? true,
        roles: setting?.roles ?? one.roles ?? [],
        confirm: 'never' as ReturnType<typeof confirmationOf>,
        profiles: [] as readonly string[],
        timeout_seconds: setting?.timeout_seconds ?? null,
        max_concurrent: setting?.max_concurrent ?? null,
        max_result_bytes: setting?.max_result_bytes ?? null,
        source: setting?.source ?? 'built in',
      })
      const found = tools.map((tool) => ({
        ...row(tool, settingOf(toolSettings, tool.name)),
        confirm: confirmationOf(toolSettings, tool.name),
        profiles: toolSettings.profiles
          .filter((profile) => profile.tools.some((pattern) => matchesName(pattern, tool.name)))
          .map(({ name }) => name),
      }))
      // What programs may do besides calling tools.
      const powers = settableEffects.map((name) =>
        row({ name, ...effects[name] }, toolSettings.settings.get(name)),
      )
      return [...found, ...powers].sort((a, b) => (a.tool < b.tool ? -1 : 1))
    },
    text: (list) =>
      table(list, [
        ...columns('tool, category, roles, profiles, confirm'),
        ['source', ({ enabled, source }) => (enabled ? source : `off: ${source}`)],
      ]),
  }),
  defineOperation({
    name: 'access.explain',
    does: 'explain what a user may do with a tool, a doctype, or one document of it; without one, with each',
    examples: [
      'access explain sales@example.com create_document',
      'access explain sales@example.com Customer CUST-0001 --client CLIENT_ID',
    ],
    // The client is a flag: its limits are easily forgotten when a user "has all roles".
    input: takes({
      user: '<user>',
      subject: '[tool-or-doctype]',
      name: '[name]',
      client: '--client <id>: through this client, with its limits',
    }),
    needs: askedServices,
    run: async ({ user, subject, name, client }, taken) => {
      const { explainAccess } = await import('../documents/explaining.ts')
      const { offerOf } = await import('../tools/gate/offer.ts')
      const { principal, gates, asked } = await principalAs(taken, user, client)
      const { tools, toolSettings, platform, documents, catalogue } = taken.site.current()
      const ofTool = (tool: (typeof tools)[number]): Reason =>
        reasonOf('tool', offerOf(principal, tool, toolSettings))
      const ofEffect = (effect: EffectName): Reason => reasonOf('power', catalogue.effect(principal, effect))
      const ofDoctype = async (doctype: string) => {
        const { actions, ...fields } = await explainAccess(documents, principal, doctype, name)
        const reasons = actions.map(({ action, ...rest }): Reason => ({ subject: action, ...rest }))
        return { ...fields, reasons }
      }
      if (subject === undefined) {
        const row = (subject: string, kind: string, reasons: readonly Reason[], action?: string) => {
          const allowed = reasons.filter((one) => one.allowed)
          const { because, source } = allowed[0] ?? reasons[0]!
          return { subject, kind, actions: allowed.map((one) => action ?? one.subject), because, source }
        }
        const subjects = [
          ...tools.map((tool) => row(tool.name, 'tool', [ofTool(tool)], 'call')),
          ...effectNames.map((effect) => row(effect, 'power', [ofEffect(effect)], 'use')),
          ...(await Promise.all(
            [...platform.doctypes.keys()].map(async (one) =>
              row(one, 'doctype', (await ofDoctype(one)).reasons),
            ),
          )),
        ]
        return { ...asked, gates, subjects: subjects.sort((a, b) => (a.subject < b.subject ? -1 : 1)) }
      }
      const tool = tools.find((one) => one.name === subject)
      const effect = effectNames.find((one) => one === subject)
      if (!platform.doctypes.has(subject) && !tool && !effect)
        throw new AppError('not_found', `"${subject}" is neither a tool, a power nor a doctype`)
      // A doctype may have the name of a tool; with the name of a document, the doctype is meant.
      const isNamed = tool !== undefined || effect !== undefined
      const doctype = isNamed && name === undefined ? undefined : await ofDoctype(subject)
      const reasons = doctype?.reasons ?? [effect ? ofEffect(effect) : ofTool(tool!)]
      return {
        ...asked,
        subject,
        kind: !doctype ? (effect ? 'power' : 'tool') : name === undefined ? 'doctype' : 'document',
        ...(name !== undefined && { name }),
        allowed: gates.every((gate) => gate.allowed) && reasons.some((reason) => reason.allowed),
        // Gates are shown with the other reasons, though a closed one decides alone: otherwise the next fault would only be
        // found later.
        reasons: [...gates, ...reasons],
        ...(doctype && { hidden_fields: doctype.hidden, masked_fields: doctype.masked }),
      }
    },
    // One sentence first: the table below is for readers who doubt it.
    text: (found) => {
      const through = found.client === null ? '' : ` through ${found.client}`
      const about = `${found.user} (${found.roles.join(', ') || 'no role'})${through}`
      if ('subjects' in found) {
        const shut = found.gates.filter(({ allowed }) => !allowed)
        const why = shut.map(({ because, source }) => pictured(`may do nothing: ${because}  ${source}`))
        const rows = table(found.subjects, columns('subject, allowed: actions, because, source'))
        return [pictured(about), ...why, rows]
      }
      const { allowed, kind, subject, name = '' } = found
      const { hidden_fields: hidden = [], masked_fields: masked = [] } = found
      const verdict = allowed ? (kind === 'tool' ? 'may call' : 'may use') : 'may not use'
      return [
        pictured(`${about} ${verdict} ${kind} ${subject} ${name}`.trimEnd()),
        table(found.reasons, ['gate: subject', 'allowed', 'because', 'source']),
        hidden.length > 0 && pictured(`hidden fields: ${hidden.join(', ')}`),
        masked.length > 0 && pictured(`masked fields: ${masked.join(', ')}`),
      ]
    },
  }),
] as const

/** A reason for the decision, with its place in the site. */
interface Reason {
  readonly subject: string
  readonly allowed: boolean
  readonly because: string
  readonly source: string
}

function reasonOf(subject: string, { refusal, reason, source }: Offer): Reason {
  return { subject, allowed: refusal === undefined, because: reason, source }
}

/** Makes the user's principal as a request would have it, and the gates before every tool and document. */
async function principalAs(
  taken: Needs<(typeof askedServices)[number]>,
  email: string,
  client: string | undefined,
) {
  const user = knownUser(taken.people(), email)
  if (client !== undefined) await clientOf(taken, client)
  const { baseOf } = await import('../oauth/acting.ts')
  const limits = client === undefined ? undefined : taken.clientLimits(client)
  const principal = {
    ...principalFor(user, 'command line'),
    ...baseOf(user, limits),
    ...(client !== undefined && { client: { id: client, name: client } }),
  }
  const has = hasRole(principal, assistantUser)
  const leaves = limits?.roles ? ', or the client does not leave it' : ''
  const because = has ? `has the role ${assistantUser}` : `lacks the role ${assistantUser}${leaves}`
  const isOn = user.assistantEnabled
  // Users, roles and the switch are all in one file, so the line need not be looked up.
  const source = 'config/users.yaml'
  const gates: readonly Reason[] = [
    { subject: 'user', allowed: user.enabled, because: user.enabled ? 'enabled' : 'disabled', source },
    { subject: 'assistant', allowed: isOn, because: `assistant_enabled is ${isOn ? 1 : 0}`, source },
    { subject: 'role', allowed: has, because, source: limits?.roles ? 'config/clients.yaml' : source },
  ]
  const asked = { user: principal.user, client: client ?? null, roles: [...principal.roles].sort() }
  return { principal, gates, asked }
}
