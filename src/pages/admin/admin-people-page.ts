/** The people of the site: who exists, what each may do and why, and what acts for them. */
import type { Context } from 'koa'
import { AppError } from '#leaf/errors.ts'
import { mayAtBrowser, mayShutOut } from '../../core/effects.ts'
import { hasRole, systemManager } from '../../core/principal.ts'
import type { Services } from '../../house/services.ts'
import { asked } from '#ui/requests.ts'
import { administrationPage, askerOf, ending, endings, firstRows } from './administration.ts'
import { pageOfRows, sheetOf, shownList, questionIn, answerSheet, sheetFormat } from '#ui/lists.ts'
import { type Deed, type OwnPage, problemsOf, type Visit } from '../own-page.ts'
import { pages } from '../pages.ts'
import { listedPeople } from './people-list.ts'
import { type PersonEntry, personFields, savePerson } from './people-editor.ts'
import { viewDeeds, listAsker } from '../saved-views.ts'
import { createSiteEditor } from './site-editor.ts'
import { givenIn, shownForm, type TypedField } from '#ui/forms.ts'
import type { SignedIn } from '../../users/accounts.ts'
import { usersFile } from '../../users/read-people.ts'
import { readerOf } from '../views.ts'

/** Makes the page, which shows everybody, or one person. */
export function adminPeoplePage(services: Services): OwnPage {
  const ask = askerOf(services)
  const editor = createSiteEditor(services)
  return administrationPage({
    script: true,
    show: async (visit) => {
      const user = asked(visit.ctx, 'user')
      const may = mayAtBrowser(visit.user, 'manage_people')
      if (user !== '') {
        const people = await ask(visit, 'users.list', {})
        const person = people.find((one) => one.user === user.toLowerCase())
        if (!person) throw new AppError('not_found', 'nothing is at this address')
        const entry = { ...person, roles: [...person.roles] }
        const form = may ? await formOf(visit, services, editor, entry) : nothing
        const mayCutOff = mayShutOut(visit.user, { roles: new Set(person.roles) })
        const about = await aboutOne(visit, person.user, ask, services.clock.now())
        return { person, isNew: false, may, mayCutOff, ...form, ...about }
      }
      if (may && asked(visit.ctx, 'new') !== '')
        return { person: null, isNew: true, may, ...(await formOf(visit, services, editor)) }
      const { source, ...list } = await peopleList(visit, services, ask)
      const shown = await shownList(
        listAsker(visit, path),
        { ...list, ordersFound: true, file },
        (question) => pageOfRows(source, question),
      )
      return { person: null, isNew: false, may, ...nothing, ...shown }
    },
    deeds: {
      ...viewDeeds(services, path),
      ...endings(ask),
      'cut-off': ending((visit, user) => ask(visit, 'users.cut_off', { user })),
      invite: linking((visit, user) => ask(visit, 'users.invite', { user })),
      reset: linking((visit, user) => ask(visit, 'users.reset', { user })),
      save: {
        type: 'site.edit',
        recent: 'keep',
        target: () => usersFile,
        run: async (visit, form) => {
          requireMay(visit)
          const user = asked(visit.ctx, 'user')
          const fields = personFields([...services.people().roles.keys()], user === '', (name) => name)
          const { email = user, full_name, ...given } = givenIn(form, fields, { reader: readerOf(visit.ctx) })
          const entry = { email, full_name: full_name ?? '', ...given } as PersonEntry
          const isShutOut = !entry.enabled && services.people().find(user)?.enabled === true
          if (isShutOut && form.get('confirmed') === undefined)
            return { isAsking: true, once: { shutsOut: true } }
          const commit = await savePerson(editor, visit.user, entry, user === '')
          return {
            data: { commit },
            to: `${path}?user=${encodeURIComponent(entry.email.toLowerCase())}&done=save`,
          }
        },
      },
    },
  })
}

const { path } = pages.adminPeople
const file = pages.exportPeople.path
const nothing = { inputs: [], refusal: '', problems: [], roles: [] }

/** Answers GET with the people that were asked for, as a file. */
export function exportPeopleEndpoint(services: Services) {
  const ask = askerOf(services)
  return async (ctx: Context, _: unknown, signed: SignedIn): Promise<void> => {
    const format = sheetFormat(asked(ctx, 'format') || 'csv')
    const reader = readerOf(ctx)
    const { askable, source } = await peopleList({ ...signed, ctx }, services, ask)
    const sheet = await sheetOf('people', source, questionIn(ctx.querystring, askable, reader))
    await answerSheet(ctx, format, sheet, reader)
  }
}

async function peopleList(visit: Visit, services: Services, ask: ReturnType<typeof askerOf>) {
  const reader = readerOf(visit.ctx)
  const people = await ask(visit, 'users.list', {})
  const by = { user: visit.user.id, reader, now: services.clock.now() }
  return listedPeople(people, [...services.people().roles.keys()], by)
}

/** Makes a form that gives a link for once, which stands on the page this once: whoever has it is that person. */
function linking(make: (visit: Visit, user: string) => Promise<unknown>): Deed {
  return {
    recent: true,
    run: async (visit, form) => {
      requireMay(visit)
      return { once: { link: await make(visit, form.get('id') ?? '') } }
    },
  }
}

function requireMay({ user }: Visit): void {
  if (!mayAtBrowser(user, 'manage_people'))
    throw new AppError('forbidden', `only a ${systemManager} manages people here`)
}

/** Returns the form for a person, or the reason why it is not there. */
async function formOf(
  visit: Visit,
  services: Services,
  editor: ReturnType<typeof createSiteEditor>,
  person?: Readonly<Record<string, unknown>>,
) {
  const reader = readerOf(visit.ctx)
  const said = reader.messages
  const fields = personFields([...services.people().roles.keys()], person === undefined, said.text)
  const { refusal = '' } = await editor.show(visit.user, usersFile)
  const { faults = [] } = visit.detail ?? {}
  const problems = [
    ...problemsOf(visit),
    ...faults.map(({ path, message }) => `${path.replace(/^users\[\d+\]\./, '')}: ${message}`),
  ]
  const values = person ?? { enabled: true, assistant_enabled: true, roles: ['Assistant User'] }
  const form = visit.form?.get('person') === undefined ? undefined : visit.form
  return { refusal: said.fault(refusal), ...shownForm(fields, { form, values, reader, problems }) }
}

/** Returns the form that asks what a person may do with a tool, or with a document, through an app. */
function askingForm(
  { ctx }: Visit,
  values: Readonly<Record<string, string>>,
  subjects: readonly { readonly subject: string }[],
  mayName: boolean,
) {
  const reader = readerOf(ctx)
  const { text } = reader.messages
  const options = subjects.map(({ subject }) => subject)
  const fields: TypedField[] = [
    { name: 'subject', label: text('admin.subject'), kind: 'select', options, blank: '' },
    ...(mayName ? [{ name: 'name', label: text('admin.document_name'), kind: 'line' } as const] : []),
    { name: 'client', label: text('audit.client'), kind: 'line' },
  ]
  return shownForm(fields, { values, reader, prefix: '' })
}

async function aboutOne(
  visit: Visit,
  user: string,
  ask: ReturnType<typeof askerOf>,
  now: number,
): Promise<Record<string, unknown>> {
  const [subject, client, name] = [
    asked(visit.ctx, 'subject'),
    asked(visit.ctx, 'client'),
    asked(visit.ctx, 'name'),
  ]
  // The admin of the assistant need not learn whether a document of some name exists.
  const mayName = hasRole(visit.user, systemManager)
  const through = client === '' ? {} : { client }
  const document = mayName && name !== '' ? { name } : {}
  const explained =
    subject === ''
      ? {}
      : await ask(visit, 'access.explain', { user, subject, ...through, ...document }).then(
          (explanation) => ({ explanation }),
          (error: unknown) => {
            if (error instanceof AppError) return { refused: error.message }
            throw error
          },
        )
  const overview = await ask(visit, 'access.explain', { user })
  const [grants, tokens, keys] = await Promise.all([
    ask(visit, 'grants.list', { user }),
    ask(visit, 'tokens.list', { user }),
    ask(visit, 'api_keys.list', { user }),
  ])
  return {
    explanation: null,
    refused: '',
    ...explained,
    asked: { subject },
    asking: askingForm(
      visit,
      { subject, client, name },
      'subjects' in overview ? overview.subjects : [],
      mayName,
    ),
    overview,
    grants: firstRows(grants),
    tokens: firstRows(tokens.filter(({ status }) => status === 'Active')),
    keys: firstRows(
      keys.filter(
        ({ status, expires }) => status === 'Active' && (expires === null || Date.parse(expires) > now),
      ),
    ),
  }
}
