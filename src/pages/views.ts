/** The views of our pages: what every one of them shows of the site and its visitor. */
import { join } from 'node:path'
import { renderSVG } from 'uqr'
import { Remembered } from '#leaf/remembered.ts'
import { createViews, markup, messagesIn, readersOf, type Render } from '#ui/pages.ts'
import type { Settings } from '../core/settings.ts'
import type { Platform } from '../documents/platform/platform.ts'
import type { SignedIn } from '../users/accounts.ts'
import { companyOf } from './company.ts'
import { navigationFor, pages } from './pages.ts'

/** The texts of the pages, one file a language. */
export const messages = messagesIn(join(import.meta.dirname, 'messages'))

/** Returns how the visitor of a page reads it. */
export const readerOf = readersOf(messages)

const companies = new Remembered<Settings, ReturnType<typeof companyOf>>()

/** Prepares the views of a site. */
export function viewsFor(deps: {
  readonly settings: () => Settings
  readonly doctypes: () => Platform['doctypes']
}): Render {
  return createViews({
    folder: join(import.meta.dirname, 'views'),
    readerOf,
    globals: {
      pages,
      scriptPath: pages.script.path,
      suggestionsPath: pages.suggestions.path.replace(':doctype', ''),
      qr: (uri: string) => markup(renderSVG(uri, { pixelSize: 1 })),
    },
    data: (ctx, { language }) => {
      const settings = deps.settings()
      const signed = ctx?.state['signed'] as SignedIn | undefined
      const doctypes = deps.doctypes()
      return {
        site: settings.server.display_name,
        skipping: settings.oauth.skip_authorization,
        // What a doctype, or a text of it, is called in the reader's language.
        called: (doctype: string, text = doctype) =>
          doctypes.get(doctype)?.translations.get(language)?.get(text) ?? text,
        company: companies.of(settings, '', () => companyOf(settings)),
        // Asked for by the view, as not every page has one.
        navigation: () => (signed ? navigationFor(signed.user, ctx?.path ?? '') : []),
        waiting: ctx?.state['waiting'] ?? 0,
      }
    },
  })
}
