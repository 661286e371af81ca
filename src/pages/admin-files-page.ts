/** The configuration: its files with what is wrong in them, and editing one as a commit where that is allowed. */
import type { User } from '../users/people.ts'
import { administrationPage, asked, type AdministrationDeps } from './administration.ts'
import type { OwnPage, Visit } from './own-page.ts'

/** Something wrong in a file, and where. */
interface Place {
  readonly line: number
  readonly column: number
  readonly path: string
  readonly message: string
}

/** Where the page gets the files; AppError `not_found` for those that there are not, or not for this user. */
export interface SiteDesk {
  list(user: User): Promise<readonly { readonly file: string; readonly faults: number }[]>
  show(
    user: User,
    file: string,
  ): Promise<{
    readonly text: string
    /** Of the bytes that are shown: what an edit begins with. */
    readonly hash: string
    readonly faults: readonly Place[]
    readonly commits: readonly {
      readonly commit: string
      readonly authorName: string
      readonly time: number
      readonly subject: string
    }[]
    /** Why this user cannot edit it here. */
    readonly refusal: string | undefined
  }>
  /** From the file as it is to a text. */
  difference(user: User, file: string, text: string): Promise<string>
  /**
   * Checks the text with the whole site, writes it, and commits it in the user's name; answers the commit. AppError
   * `conflict` when the file is not the one that the edit began with, `invalid` with `data.faults`.
   */
  save(user: User, file: string, edit: { readonly text: string; readonly hash: string }): Promise<string>
}

/** What a page has room for. */
const mostBytes = 65_536

/** The page: every file, or one. */
export function adminFilesPage(deps: AdministrationDeps & { readonly desk: SiteDesk }): OwnPage {
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
function faultsOf({ detail }: Visit): readonly Place[] | undefined {
  return ((detail ?? {}) as { readonly faults?: readonly Place[] }).faults
}
