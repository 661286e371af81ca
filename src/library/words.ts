/**
 * The types of the library: prompt templates, categories and skills of a site, as each principal sees
 * them.
 *
 * The files of this folder work together as follows:
 * - Reading: `read-library.ts` makes one immutable reading of `template-file.ts` (with `arguments.ts`
 *   and `argument-types.ts`), `categories.ts` and `skill-files.ts`, checked by `check-library.ts` and
 *   `lint.ts` against the rest of the site.
 * - Keeping: `librarian.ts` opens readings and holds what outlives them: `git-versions.ts` counts in
 *   git; `versions.ts`, `usage.ts` and `built-ins.ts` keep the rest in the state. `follow-refs.ts` notices when a branch of a channel moves.
 * - Serving: `library.ts` is what a reading becomes, `channels.ts` chooses one of several for a principal;
 *   `access.ts` alone decides who may see what, `render.ts` has the three engines.
 * - For the desk and the command line: `prompt-methods.ts` (specification §4.7), `writing.ts`,
 *   `history.ts`, `preview.ts`, `prompt-tests.ts`.
 */

/** The statuses of specification §3.3: only `Published` prompts are listed for users who do not own them. */
export const promptStatuses = ['Draft', 'Published', 'Deprecated', 'Archived'] as const
export type PromptStatus = (typeof promptStatuses)[number]
/**
 * The visibility of specification §5.6: the owner alone, holders of a shared role, or every Assistant
 * User; access.ts decides by it.
 */
export const visibilities = ['Private', 'Shared', 'Public'] as const
export type Visibility = (typeof visibilities)[number]
/** The engine that turns the content of a template into text (specification §4.5, rules for prompts). */
export type RenderingEngine = 'Jinja2' | 'Format String' | 'Raw'

/** The types of specification §4.6, and four more; argument-types.ts maps each to the table of values. */
export const argumentTypes = [
  'string',
  'number',
  'boolean',
  'select',
  'multiselect',
  'date',
  'datetime',
  'json',
  'link',
] as const
/** The type of an argument, which decides how its values are read and completed. */
export type ArgumentType = (typeof argumentTypes)[number]

/** The doctype in an argument of type `link` that stands for doctypes themselves. */
export const doctypeOfDoctypes = 'DocType'

/** An argument of a prompt (specification §2.7), in the names that `prompts/list` uses. */
export interface PromptArgument {
  readonly name: string
  readonly label: string
  readonly type: ArgumentType
  readonly required: boolean
  readonly default: unknown
  readonly description: string
  readonly allowedValues: readonly string[]
  /** The doctype of a `link`. */
  readonly doctype?: string
  /** The Validation Regex of a `string`, which must match the whole value. */
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
}

/** The properties of a template or skill that decide who may see it. */
export interface Guarded {
  readonly status: PromptStatus
  readonly visibility: Visibility
  readonly sharedWithRoles: readonly string[]
  readonly isSystem: boolean
  /** An e-mail address; empty where nobody but the site's authors owns it. */
  readonly owner: string
}

/** A prompt template (specification §2.6), of the site or built in. */
export interface PromptTemplate extends Guarded {
  /** The id, unique in a library: the name, or OWNER:NAME for a file in its owner's own folder. */
  readonly id: string
  /** The prompt_id: the name that its users call it by. */
  readonly name: string
  readonly title: string
  readonly description: string
  readonly category?: string
  readonly engine: RenderingEngine
  readonly content: string
  readonly arguments: readonly PromptArgument[]
  readonly tags: readonly string[]
  /** null while it is not committed. */
  readonly version: number | null
  /** The path relative to the site. */
  readonly file: string
  /** The template of which this one is a named version (specification §9.7). */
  readonly parent?: string
  readonly versionNotes?: string
  /** `sha256:<64 lower-case hex>` over everything a client may see of it: equal digests mean equal prompts. */
  readonly digest: string
}

/** A folder for templates (specification §2.8). */
export interface Category {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly parent?: string
  readonly isGroup: boolean
  readonly icon: string
  readonly color: string
  readonly isSystem: boolean
}

/** One file of a skill as it is served: the bytes on disk, unchanged. */
export interface SkillFile {
  /** `skill://<name>/<path>`. */
  readonly uri: string
  readonly path: string
  readonly mimeType: string
  readonly bytes: Uint8Array
  /** `sha256:<64 lower-case hex>` over `bytes`. */
  readonly digest: string
  /** True when the bytes are valid UTF-8 and can be served as text. */
  readonly text: boolean
}

/** A skill: `skills/<name>/SKILL.md` and the files beside it. */
export interface Skill extends Guarded {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly status: 'Draft' | 'Published' | 'Deprecated'
  /** Tools that the skill teaches; `skill_mode` decides what becomes of their descriptions. */
  readonly tools: readonly string[]
  /** The doctypes that it is about. */
  readonly doctypes: readonly string[]
  /** The front matter of SKILL.md as it stands there. */
  readonly frontmatter: Readonly<Record<string, unknown>>
  /** SKILL.md first, then the others by path. */
  readonly files: readonly SkillFile[]
}

/** The answer of `prompts/get`. */
export interface RenderedPrompt {
  readonly template: PromptTemplate
  readonly text: string
  /** The commit of the template's file, if the site is a git repository and the file is committed. */
  readonly commit?: string
}
