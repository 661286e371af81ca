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
import { saidValue } from './setting-fields.ts'
import { createSiteEditor } from './site-editor.ts'
import { givenIn, markedForm, marksOf, refusedAt, shownForm, touchedIn, type TypedField } from '#ui/forms.ts'
import type { SignedIn } from '../../users/accounts.ts'
import { changedMeanwhile } from '../../library/writing/writing-rules.ts'
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
        const form = may ? await formOf(visit, services, editor, person.user) : nothing
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
      save: saving(services, editor),
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

/** Makes the form that saves what it changes of a person, and asks before it shuts them out. */
function saving(services: Services, editor: ReturnType<typeof createSiteEditor>): Deed {
  return {
    type: 'site.edit',
    recent: 'keep',
    target: () => usersFile,
    run: async (visit, form) => {
      requireMay(visit)
      const user = asked(visit.ctx, 'user')
      const isNew = user === ''
      const { fields, values, reader } = formNow(visit, services, user)
      if (!isNew && form.get('began') !== marksOf(fields, values, reader))
        throw new AppError('conflict', changedMeanwhile(usersFile))
      const given = givenIn(form, isNew ? fields : touchedIn(form, fields, reader), { reader })
      if (given['email'] === null) throw refusedAt('email', 'invalid', 'is required')
      const entry = { email: user, ...given } as PersonEntry
      // The last of them would lock everybody out of this.
      if (user.toLowerCase() === visit.user.id && entry.roles?.includes(systemManager) === false)
        throw refusedAt('roles', 'forbidden', `only another ${systemManager} takes this role from you`)
      const isShutOut = entry.enabled === false && !isNew
      if (isShutOut && form.get('confirmed') === undefined)
        return { isAsking: true, once: { shutsOut: true } }
      const commit = await savePerson(editor, visit.user, entry, isNew)
      return {
        data: { commit },
        to: `${path}?user=${encodeURIComponent(entry.email.toLowerCase())}&done=save`,
      }
    },
  }
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

/** Returns the fields of the form for a person, and what is in use of them; of somebody new, what it begins with. */
function formNow({ ctx }: Visit, { people }: Services, user: string) {
  const reader = readerOf(ctx)
  const fields = personFields([...people().roles.keys()], user === '', reader.messages.text)
  const known = people().find(user)
  const values = known
    ? {
        full_name: known.fullName,
        enabled: known.enabled,
        assistant_enabled: known.assistantEnabled,
        roles: [...known.roles],
      }
    : { enabled: true, assistant_enabled: true, roles: ['Assistant User'] }
  return { fields, values, reader }
}

/** Returns the form for a person, or the reason why it is not there. */
async function formOf(
  visit: Visit,
  services: Services,
  editor: ReturnType<typeof createSiteEditor>,
  user = '',
) {
  const { fields, values, reader } = formNow(visit, services, user)
  const { refusal = '' } = await editor.show(visit.user, usersFile)
  const { faults = [] } = visit.detail ?? {}
  const problems = [
    ...problemsOf(visit),
    ...faults.map(({ path, message }) => `${path.replace(/^users\[\d+\]\./, '')}: ${message}`),
  ]
  const form = visit.form?.get('person') === undefined ? undefined : visit.form
  const isStale = user !== '' && form?.get('began') !== marksOf(fields, values, reader)
  const said = (name: string): string => saidValue((values as Record<string, unknown>)[name], reader)
  const shown = markedForm(fields, { form, values, reader, problems }, { isStale, said })
  return { refusal: reader.messages.fault(refusal), ...shown }
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
