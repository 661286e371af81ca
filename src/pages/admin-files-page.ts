/** The configuration: its files with what is wrong in them, and editing one as a commit where that is allowed. */
import type { Fault } from '../site/site-files.ts'
import { administrationPage, asked, type AdministrationDeps } from './administration.ts'
import type { OwnPage, Visit } from './own-page.ts'
import type { SiteEditor } from './site-editor.ts'

/** What a page has room for. */
const mostBytes = 65_536

/** The page: every file, or one. */
export function adminFilesPage(deps: AdministrationDeps & { readonly desk: SiteEditor }): OwnPage {
  const { desk } = deps
  return administrationPage('files', {
    // Every byte of a form may take three.
    largest: 4 * mostBytes,
    show: async (visit) => {
      const { user, form: typed } = visit
      const file = asked(visit, 'file')
      if (file === '') return { file, files: await desk.list(user) }
      const found = await desk.show(user, file)
      const isLarge = found.text.length > mostBytes
      const text = typed?.get('text')
      const changed = typed !== undefined && typed.get('hash') !== found.hash
      return {
        file,
        ...found,
        refusal: found.refusal ?? '',
        isLarge,
        lines: isLarge ? [] : found.text.split('\n'),
        editing: (text !== undefined || asked(visit, 'edit') === '1') && !found.refusal && !isLarge,
        text: text ?? found.text,
        faults: faultsOf(visit) ?? found.faults,
        difference: changed && text !== undefined ? await desk.difference(user, file, text) : '',
      }
    },
    deeds: {
      save: {
        type: 'site.edit',
        recent: 'keep',
        run: async (visit, form) => {
          const file = asked(visit, 'file')
          const edit = { text: form.get('text') ?? '', hash: form.get('hash') ?? '' }
          return { target: file, data: { commit: await desk.save(visit.user, file, edit) } }
        },
      },
    },
  })
}

/** What is wrong in an edit that was just refused. */
function faultsOf({ detail }: Visit): readonly Fault[] | undefined {
  return ((detail ?? {}) as { readonly faults?: readonly Fault[] }).faults
}
