/** The settings: those of business in the one form, and what the host decides as text. */
import { type Document, parseDocument } from 'yaml'
import { AppError } from '#leaf/errors.ts'
import type { Services } from '../../house/services.ts'
import { oldSection } from '../../settings/old-settings.ts'
import { interpret } from '#site/reading.ts'
import { settingsFile } from '../../settings/read-settings.ts'
import { administrationPage } from './administration.ts'
import { markedForm, touchedIn, type Reader, type TypedField, givenIn } from '#ui/forms.ts'
import { type OwnPage, problemsOf, type Visit } from '../own-page.ts'
import {
  everySetting,
  saidValue,
  type Setting,
  settingField,
  shownSetting,
  valueAt,
  writeSettings,
} from './setting-fields.ts'
import { createSiteEditor, formRefusal, unreadable } from './site-editor.ts'
import { readerOf } from '../views.ts'

/** Makes the page. */
export function adminSettingsPage(services: Services): OwnPage {
  const desk = { services, editor: createSiteEditor(services), all: everySetting() }
  return administrationPage({
    script: true,
    largest: 262_144,
    show: async (visit) => {
      const now = await formNow(visit, desk)
      return { ...formOf(visit, now), hosts: hostSettings(desk, now.reader), file: settingsFile }
    },
    deeds: {
      save: {
        type: 'site.edit',
        recent: 'keep',
        target: () => settingsFile,
        run: async (visit, form) => {
          // More rows are asked for, and nothing is to be saved yet.
          if (form.get('more') !== undefined) return { once: {} }
          const { closed, fields, values, reader } = await formNow(visit, desk)
          if (closed !== undefined) throw new AppError('forbidden', closed)
          const given = givenIn(form, touchedIn(form, fields, reader), { values, reader })
          const changed = desk.all.filter(({ path }) => Object.hasOwn(given, path.join('.')))
          const change = (document: Document): void => writeSettings(document, changed, given, values)
          const began = form.get('hash') ?? ''
          const commit = await desk.editor.change(visit.user, settingsFile, change, began)
          return { data: { commit } }
        },
      },
    },
  })
}

interface Desk {
  readonly services: Services
  readonly editor: ReturnType<typeof createSiteEditor>
  readonly all: readonly Setting[]
}

/** Returns the fields and values of the file as it is now, and why the page changes nothing in it, if so. */
async function formNow(visit: Visit, { services, editor, all }: Desk) {
  const { text, hash, refusal } = await editor.show(visit.user, settingsFile)
  const data = interpret(settingsFile, Buffer.from(text)).document?.data
  const isOld = valueAt(data, [oldSection]) !== undefined
  const older = 'the settings have an older layout; "assistant-core migrate" rewrites them'
  // An older layout may be why edits are refused, as it has no word that allows them.
  const closed = isOld
    ? older
    : (refusal ?? (data === undefined ? unreadable : formRefusal(parseDocument(text))))
  const fixed = closed !== undefined
  const source = data === undefined || isOld ? services.settings() : data
  const roles = [...services.people().roles.keys()]
  const reader = readerOf(visit.ctx)
  const business = all.filter(({ isBusiness }) => isBusiness)
  const fields = business.map((setting) => {
    const field = settingField(setting, reader, roles)
    return { ...field, fixed, columns: field.columns?.map((column) => ({ ...column, fixed })) }
  })
  const valueOf = (setting: Setting): unknown => {
    const value = valueAt(source, setting.path)
    return shownSetting(setting, value === undefined ? setting.usual : value)
  }
  const values = Object.fromEntries(business.map((one) => [one.path.join('.'), valueOf(one)]))
  return { hash, closed, fields, values, reader }
}

/** Returns the form with what was typed, by sections. */
function formOf(visit: Visit, now: Awaited<ReturnType<typeof formNow>>) {
  const { hash, closed, fields, values, reader } = now
  const { form } = visit
  const said = (name: string): string => saidValue(values[name], reader)
  const state = { form, values, reader, problems: [...problemsOf(visit), ...faultsOf(visit, fields)] }
  const isStale = form?.get('hash') !== hash
  const { inputs, began, problems } = markedForm(fields, state, { isStale, said })
  return {
    closed: closed === undefined ? '' : reader.messages.fault(closed),
    hash,
    began,
    problems,
    sections: bySection(inputs),
  }
}

/** Returns what the host decides, as it is in use. */
function hostSettings({ services, all }: Desk, reader: Reader) {
  const inUse = services.settings()
  const settings = all.filter(({ isBusiness }) => !isBusiness)
  return bySection(
    settings.map(({ path, usual }) => ({
      name: path.join('.'),
      value: saidValue(valueAt(inUse, path), reader),
      usual: saidValue(usual, reader),
    })),
  )
}

/** Groups what belongs to settings by their sections; those that are in none are a group of their own. */
function bySection<Row extends { readonly name: string }>(rows: readonly Row[]) {
  const sectionOf = ({ name }: Row): string => /^(\w+)\./.exec(name)?.[1] ?? ''
  return [...new Set(rows.map(sectionOf))].map((name) => {
    const own = rows.filter((row) => sectionOf(row) === name)
    return { name: name || own.map((row) => row.name).join(', '), rows: own }
  })
}

/** Returns the faults that the site would have, those of a setting behind its name. */
function faultsOf({ detail }: Visit, fields: readonly TypedField[]): readonly string[] {
  return (detail?.faults ?? []).map(({ file, path, message }) => {
    // A key of a mapping stands in a row of its table.
    const above = fields.find(({ name }) => path.startsWith(`${name}.`))
    return file === settingsFile && path !== '' ? `${above?.name ?? path}: ${message}` : `${file}: ${message}`
  })
}
