/** What holds whenever a template is written: who may, what it must be, and that nobody's work is lost. */
import { AppError } from '../core/errors.ts'
import { systemManager, type Principal } from '../core/principal.ts'
import { fileDigest } from '../site/read-site.ts'
import { faultText, fileFault, type Fault } from '../site/site-files.ts'
import { isWider, mayChange } from './access.ts'
import type { Library } from './library.ts'
import type { ReadTemplate } from './template-file.ts'
import type { PromptTemplate } from './words.ts'

/** A file as it is to be, and what is said of it. */
export interface TemplateWork {
  readonly id: string
  readonly file: string
  readonly text: string
  /** `fileDigest` of what the text was made from; undefined for a file that must not exist yet. */
  readonly began: string | undefined
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
  /** Refuses what the author may not do with what the text turned out to be. AppError. */
  readonly admit?: (template: PromptTemplate) => void
}

/** A template that the principal may change, in the line that is written to. AppError `not_found`, `forbidden`. */
export function changeableTemplate(
  principal: Principal,
  library: Library,
  id: string,
): { template: PromptTemplate; read: ReadTemplate; began: string } {
  const template = library.prompt(principal, id)
  if (template.isSystem)
    throw new AppError('forbidden', `"${id}" is built in and cannot be changed; duplicate it`)
  if (!mayChange(principal, template))
    throw new AppError('forbidden', `only its owner or a System Manager may change "${id}"`)
  const read = library.read(id)
  return { template, read, began: fileDigest(read.document.bytes) }
}

/** What is about to be written must be a good template, and leave the site a good one. */
export function requireGood(
  principal: Principal,
  library: Library,
  { id, file, admit }: TemplateWork,
  bytes: Uint8Array,
): void {
  const { faults: found, read } = library.lineage.examine(file, bytes)
  const faults = faultsFor(principal, file, found)
  if (faults.length > 0) {
    const told = faults.map(faultText).join('; ')
    throw new AppError('invalid', `the result would not be a good template: ${told}`, { data: { faults } })
  }
  if (read?.template.id !== id)
    throw new AppError('invalid', `prompt_id: it stays "${id}"; duplicate the template to give it another`)
  admit?.(read.template)
}

/** Faults in words that tell nobody of templates which they may not see: another's id is only taken. */
export function faultsFor(principal: Principal, file: string, faults: readonly Fault[]): readonly Fault[] {
  if (principal.roles.has(systemManager)) return faults
  return faults.map((fault) =>
    fault.file === file && !fault.message.includes('is already used by')
      ? fault
      : { ...fileFault(file, 'it is taken; choose another'), path: 'prompt_id' },
  )
}

/** Nobody's work is overwritten by who has not seen it. */
export function requireBegan(
  { file, began }: Pick<TemplateWork, 'file' | 'began'>,
  present: Uint8Array | undefined,
): void {
  if (present && fileDigest(present) === began) return
  const message = present
    ? `${file} was changed by somebody else since you began; nothing is saved yet`
    : `${file} is not there any more`
  throw new AppError('conflict', message, {
    data: present && { present: new TextDecoder().decode(present), digest: fileDigest(present) },
  })
}

/** Who offers a template to others, or gives it to somebody, manages the library; everybody writes their own. */
export function requireOwn(
  principal: Principal,
  now: PromptTemplate,
  before: PromptTemplate | undefined,
): void {
  if (principal.roles.has(systemManager)) return
  if (now.owner !== principal.user)
    throw new AppError('forbidden', `owner: a template stays its owner's; write "${principal.user}"`)
  if (isWider(now, before))
    throw new AppError('forbidden', 'visibility: only a System Manager offers a template to others')
}

/** Forms come with the line ends of Windows, wherever the file came from. */
export function withLineEndsOf(bytes: Uint8Array, text: string): string {
  const plain = text.replaceAll('\r\n', '\n')
  return Buffer.from(bytes).includes('\r\n') ? plain.replaceAll('\n', '\r\n') : plain
}
