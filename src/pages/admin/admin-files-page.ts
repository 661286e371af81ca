/** The configuration: its files with their faults, and editing one as a commit where that is allowed. */
import { asked } from '#ui/requests.ts'
import { administrationPage } from './administration.ts'
import type { OwnPage } from '../own-page.ts'
import { createSiteEditor, type SiteEditorParts } from './site-editor.ts'
import { settingsFile } from '../../settings/read-settings.ts'
import { readerOf } from '../views.ts'

/** The most bytes that a page shows. */
const mostBytes = 65_536

/** Makes the page, which shows every file, or one. */
export function adminFilesPage(parts: SiteEditorParts): OwnPage {
  const editor = createSiteEditor(parts)
  return administrationPage({
    // A form may encode every byte as three.
    largest: 4 * mostBytes,
    show: async (visit) => {
      const { user, form: typed } = visit
      const file = asked(visit.ctx, 'file')
      if (file === '') return { file, files: await editor.list(user) }
      const found = await editor.show(user, file)
      const isLarge = found.text.length > mostBytes
      const text = typed?.get('text')
      // Settings have a form, unless what is wrong with them keeps it from being shown.
      const hasForm = file === settingsFile && !isLarge && found.faults.length === 0
      const changed = typed !== undefined && typed.get('hash') !== found.hash
      return {
        file,
        ...found,
        refusal: readerOf(visit.ctx).messages.fault(found.refusal ?? ''),
        isLarge,
        lines: isLarge ? [] : found.text.split('\n'),
        hasForm,
        editing:
          (text !== undefined || (asked(visit.ctx, 'edit') === '1' && !hasForm)) &&
          !found.refusal &&
          !isLarge,
        text: text ?? found.text,
        // Those of an edit that was just refused, if any.
        faults: visit.detail?.faults ?? found.faults,
        difference: changed && text !== undefined ? await editor.difference(user, file, text) : '',
      }
    },
    deeds: {
      save: {
        type: 'site.edit',
        recent: 'keep',
        target: ({ ctx }) => asked(ctx, 'file'),
        run: async (visit, form) => {
          const file = asked(visit.ctx, 'file')
          const edit = { text: form.get('text') ?? '', hash: form.get('hash') ?? '' }
          return { data: { commit: await editor.save(visit.user, file, edit) } }
        },
      },
    },
  })
}
