/** The rules for writing a template: who may, what it must be, and that nobody's work is lost. */
import { AppError } from '#leaf/errors.ts'
import { systemManager, type Principal } from '../../core/principal.ts'
import { fileDigest } from '#site/reading.ts'
import { faultText, fileFault, type Fault } from '#site/site-files.ts'
import { isOffered, isWider, mayChange } from '../access.ts'
import type { Channels } from '../versions/channels.ts'
import type { Library } from '../library.ts'
import { mustPass, testFaults, testResults } from '../prompts/prompt-tests.ts'
import type { ReadTemplate } from '../prompts/template-file.ts'
import type { PromptTemplate } from '../words.ts'

/** A file to be written, with its commit message and audit data. */
export interface TemplateWork {
  readonly id: string
  readonly file: string
  readonly text: string
  /** The `fileDigest` of the content that the text was made from; undefined for a file that must not exist yet. */
  readonly began: string | undefined
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
  /** Refuses a template that the author may not write. AppError. */
  readonly admit?: (template: PromptTemplate) => void
}

/** Returns a template that the principal may change, in the line that is written to. AppError `not_found`, `forbidden`. */
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
  const read = library.read(template.id)
  return { template, read, began: fileDigest(read.document.bytes) }
}

/** Requires a valid template that leaves the site valid and passes its tests where it must. AppError `invalid`. */
export async function requireGood(
  principal: Principal,
  library: Library,
  { id, file, admit }: TemplateWork,
  bytes: Uint8Array,
): Promise<ReadTemplate> {
  const { faults: found, read } = library.lineage.examine(file, bytes)
  const faults = faultsFor(principal, file, found)
  if (faults.length > 0) {
    const told = faults.map(faultText).join('; ')
    throw new AppError('invalid', `the result would not be a good template: ${told}`, { data: { faults } })
  }
  const name = id.slice(id.indexOf(':') + 1)
  if (read?.template.name !== name)
    throw new AppError('invalid', `prompt_id: it stays "${name}"; duplicate the template to give it another`)
  admit?.(read.template)
  if (read.template.id !== id)
    throw new AppError('invalid', "owner: what stands in its owner's folder stays theirs; duplicate it")
  if (!principal.roles.has(systemManager) && read.tests.length > mostTests)
    throw new AppError('invalid', `tests: at most ${mostTests}; more are for a System Manager to add`)
  if (!mustPass(read)) return read
  const tests = (await testResults(read)).filter(({ ok }) => !ok)
  if (tests.length === 0) return read
  const failing = testFaults(read, await testResults(read))
  throw new AppError(
    'invalid',
    `it fails its own tests, and only a Draft may: ${failing.map(({ message }) => message).join('; ')}`,
    { data: { faults: failing, tests } },
  )
}

/** The maximum of tests in a template, since each is rendered here when its template is saved. */
export const mostTests = 20

/** The limits on drafts of a person that nobody else is offered. */
export interface DraftBounds {
  readonly max_drafts_per_user: number
  readonly max_draft_bytes_per_user: number
}

/** Requires room for another draft, so that no author fills the site with them. AppError `forbidden`. */
export function requireRoom(
  channels: Channels,
  { template, document }: ReadTemplate,
  bounds: DraftBounds,
): void {
  const isDraft = (one: PromptTemplate): boolean => one.owner === template.owner && !isOffered(one)
  if (template.owner === '' || !isDraft(template)) return
  const all = new Map([...channels.all().values()].flatMap(({ reading }) => [...reading.templates]))
  const before = all.get(template.id)?.document.bytes.length
  all.delete(template.id)
  const others = [...all.values()].filter((read) => isDraft(read.template))
  const bytes = others.reduce((sum, read) => sum + read.document.bytes.length, document.bytes.length)
  const [most, mostBytes] = [bounds.max_drafts_per_user, bounds.max_draft_bytes_per_user]
  if (before === undefined && others.length >= most)
    throw new AppError(
      'forbidden',
      `${template.owner} has ${others.length} drafts, as many as one may (library.max_drafts_per_user)`,
    )
  if (bytes > mostBytes && document.bytes.length > (before ?? 0))
    throw new AppError(
      'forbidden',
      `the drafts of ${template.owner} would have ${bytes} bytes; the most is ${mostBytes} (library.max_draft_bytes_per_user)`,
    )
}

/** Rewrites faults so that they reveal no template that the principal may not see: another's id is only taken. */
export function faultsFor(principal: Principal, file: string, faults: readonly Fault[]): readonly Fault[] {
  if (principal.roles.has(systemManager)) return faults
  return faults.map((fault) =>
    fault.file === file && !fault.message.includes('is already used by')
      ? fault
      : { ...fileFault(file, 'it is taken; choose another'), path: 'prompt_id' },
  )
}

/** What is said of a file that somebody else has changed meanwhile. */
export const changedMeanwhile = (file: string): string =>
  `${file} was changed by somebody else since you began; nothing is saved yet`

/** Refuses to overwrite work that the author has not seen. AppError `conflict`. */
export function requireBegan(
  { file, began }: Pick<TemplateWork, 'file' | 'began'>,
  present: Uint8Array | undefined,
): void {
  if (present && fileDigest(present) === began) return
  const message = present ? changedMeanwhile(file) : `${file} is not there any more`
  throw new AppError('conflict', message, {
    data: present && { present: new TextDecoder().decode(present), digest: fileDigest(present) },
  })
}

/** Requires ownership; only System Managers offer a template to others or give it to somebody. AppError `forbidden`. */
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

/** Gives a text the line ends of the file, since forms send those of Windows. */
export function withLineEndsOf(bytes: Uint8Array, text: string): string {
  const plain = text.replaceAll('\r\n', '\n')
  return Buffer.from(bytes).includes('\r\n') ? plain.replaceAll('\n', '\r\n') : plain
}
