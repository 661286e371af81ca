/** Asking that a prompt be offered to others: its owner asks, and whoever may offer prompts sees it and does it or declines. */
import type { Needs } from '../../control/operation.ts'
import { AppError } from '#leaf/errors.ts'
import { type Principal, systemManager } from '../../core/principal.ts'
import { isOffered, requireEffect } from '../../library/access.ts'
import { siteLine } from '../../library/versions/channels.ts'
import { promptNameFor } from '../../library/writing/own-names.ts'
import { changeableTemplate } from '../../library/writing/writing-rules.ts'
import type { PromptTemplate } from '../../library/words.ts'
import type { Deed, Visit } from '../own-page.ts'
import { principalAt, type SessionDeps } from '../session-middleware.ts'

type OfferParts = Needs<'site' | 'librarian' | 'refusalOf'>

/** What the page of a prompt says about it. */
export interface ShownOffer {
  /** Milliseconds since the epoch, when its owner asks for it. */
  readonly asked: number | undefined
  readonly mayAsk: boolean
}

/** Returns whether a prompt's owner asks for it, and whether this principal may. */
export async function askedOfferOf(
  principal: Principal,
  template: PromptTemplate,
  { librarian }: OfferParts,
): Promise<ShownOffer> {
  return {
    asked: (await librarian.asked.of(template))?.at,
    mayAsk: template.owner === principal.user && !isManager(principal) && !isOffered(template),
  }
}

/** Returns the prompts that wait for somebody who may offer them; none for others. */
export async function waitingOffers(principal: Principal, { site, librarian }: OfferParts) {
  if (!isManager(principal)) return []
  const { templates } = site.current().library.all().get(siteLine)!.reading
  const waiting = await librarian.asked.waiting((id) => templates.get(id)?.template)
  return waiting.map(({ template, at }) => ({
    prompt_id: promptNameFor(principal, template),
    title: template.title,
    by: template.owner,
    at,
  }))
}

/** The forms by which an owner asks, and by which it is declined or taken back. */
export function offerDeeds(
  deps: OfferParts & SessionDeps,
  idOf: (visit: Visit) => string,
): Readonly<Record<string, Deed>> {
  const templateAt = (visit: Visit): { principal: Principal; template: PromptTemplate } => {
    const principal = principalAt(visit, deps)
    requireEffect(deps.refusalOf, principal, 'write_prompts')
    const library = deps.site.current().library.for(principal)
    return { principal, template: changeableTemplate(principal, library, idOf(visit)).template }
  }
  return {
    ask: {
      type: 'prompt.ask',
      target: idOf,
      run: async (visit) => {
        const { principal, template } = templateAt(visit)
        const { mayAsk } = await askedOfferOf(principal, template, deps)
        if (!mayAsk)
          throw new AppError('forbidden', 'only its owner asks for a prompt that others are not offered yet')
        await deps.librarian.asked.ask(template)
        return undefined
      },
    },
    decline: {
      type: 'prompt.decline',
      target: idOf,
      run: async (visit) => {
        const { template } = templateAt(visit)
        await deps.librarian.asked.end(template.id)
        return undefined
      },
    },
  }
}

function isManager(principal: Principal): boolean {
  return principal.roles.has(systemManager)
}
