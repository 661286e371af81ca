/**
 * Reads skills: `skills/<name>/SKILL.md` and the files beside it, by the rules of the MCP skills extension
 * (io.modelcontextprotocol/skills). Files are served from memory, by exact name, so no path that
 * a peer sends ever reaches the disk.
 */
import { fileDigest } from '#site/reading.ts'
import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { fileSchema } from '#leaf/file-schema.ts'
import { type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { checkDocument } from '#site/checking.ts'
import type { Fault, SiteFiles, SourceDocument } from '#site/site-files.ts'
import { visibilityFaults } from './access.ts'
import { wordsOf } from './prompts/argument-rows.ts'
import { fitted } from './prompts/lint.ts'
import type { Skill, SkillFile } from './words.ts'
import { references } from '#leaf/references.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** The front matter of SKILL.md: the fields of the extension, and our own that decide who may see it. */
export const skillSchema = objectWith(
  {
    name: {
      type: 'string',
      pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
      maxLength: 64,
      title: 'lower-case letters, digits and single hyphens',
    },
    description: { type: 'string', minLength: 1, maxLength: 1024 },
  },
  {
    license: { type: 'string' },
    compatibility: { type: 'string', maxLength: 500 },
    'allowed-tools': { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    metadata: { type: 'object' },
    title: { type: 'string', minLength: 1, maxLength: 200 },
    status: { type: 'string', enum: ['Draft', 'Published', 'Deprecated'] },
    visibility: { type: 'string', enum: ['Private', 'Shared', 'Public'] },
    shared_with_roles: { type: 'array', items: references('role', { type: 'string' }), uniqueItems: true },
    owner: { type: 'string' },
    tools: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    doctypes: { type: 'array', items: { type: 'string' } },
    is_system: { enum: [0, 1, false, true] },
  },
) satisfies JSONSchema

const check = fileSchema(skillSchema)

const mostFiles = 512
const mostBytes = 16 * 1024 * 1024

/** A skill with its SKILL.md, for checks that need positions. */
export interface ReadSkill {
  readonly skill: Skill
  readonly document: SourceDocument
  readonly digest: string
  /** The doctypes that it is about: a built-in skill is there only where all of these are. */
  readonly doctypes: readonly string[]
}

/** Reads every skill of a site, by name. */
export function readSkills(files: SiteFiles, faults: Fault[]): Map<string, ReadSkill> {
  const skills = new Map<string, ReadSkill>()
  for (const [name, paths] of foldersOf(files)) {
    const folder = `skills/${name}`
    const document = files.documents.get(`${folder}/SKILL.md`)
    if (!document) {
      // A SKILL.md that does not parse has been reported already.
      if (!files.faults.some((fault) => fault.file === `${folder}/SKILL.md`)) {
        faults.push({ file: folder, line: 1, column: 1, path: '', message: 'a skill needs a SKILL.md' })
      }
      continue
    }
    const skill = readSkill(name, document, filesOf(name, paths), faults)
    if (skill) skills.set(name, skill)
  }
  return skills
}

function readSkill(
  name: string,
  document: SourceDocument,
  served: readonly SkillFile[],
  faults: Fault[],
): ReadSkill | undefined {
  const front = checkDocument<FromSchema<typeof skillSchema>>(document, check, faults)
  if (!front) return undefined
  const found: Fault[] = []
  for (const key of Object.keys(front.metadata ?? {})) {
    if (key.startsWith('io.modelcontextprotocol/')) {
      found.push(
        document.fault(
          ['metadata', key],
          'keys that begin with io.modelcontextprotocol/ are reserved',
          'key',
        ),
      )
    }
  }
  if (front.name !== name) found.push(document.fault(['name'], `must be the name of its folder, "${name}"`))
  const visibility = front.visibility ?? 'Public'
  const sharedWithRoles = front.shared_with_roles ?? []
  const owner = (front.owner ?? '').trim().toLowerCase()
  found.push(...visibilityFaults(document, 'skill', { visibility, sharedWithRoles, isSystem: false, owner }))
  if ((document.body ?? '').trim() === '')
    found.push(document.fault([], 'the skill has no text below its front matter'))
  if (served.length > mostFiles)
    found.push(document.fault([], `a skill has at most ${mostFiles} files, not ${served.length}`))
  const bytes = served.reduce((sum, file) => sum + file.bytes.length, 0)
  if (bytes > mostBytes)
    found.push(document.fault([], `a skill has at most ${mostBytes} bytes, not ${bytes}`))
  if (found.length > 0) {
    faults.push(...found)
    return undefined
  }
  const skill: Skill = Object.freeze({
    name,
    title: front.title ?? titleOf(name),
    description: front.description,
    status: front.status ?? 'Published',
    visibility,
    sharedWithRoles,
    isSystem: Boolean(front.is_system),
    owner,
    tools: wordsOf(front.tools ?? []),
    doctypes: front.doctypes ?? [],
    // The front matter as in the file, without defaults: hosts compare it with the file.
    frontmatter: document.data as Record<string, unknown>,
    files: served,
  })
  return { skill, document, digest: digestOf(skill), doctypes: skill.doctypes }
}

/**
 * Returns the skills for a reader who lacks these tools, each with its digest. Built-in skills lose what sends the
 * reader to such a tool, and are left out when they teach one or are about a doctype that the reader does not read; a
 * site's own skills stay as they are.
 */
export function skillsWithout(
  skills: ReadonlyMap<string, Skill>,
  lacks: ReadonlySet<string>,
  reads: (doctype: string) => boolean,
): ReadonlyMap<string, Skill & { readonly digest: string }> {
  const fitting = [...skills].filter(
    ([, { isSystem, tools, doctypes }]) =>
      !isSystem || (!tools.some((tool) => lacks.has(tool)) && doctypes.every(reads)),
  )
  return new Map(
    fitting.map(([name, skill]) => {
      const fit = skill.isSystem
        ? { ...skill, files: skill.files.map((file) => fitFile(file, lacks)) }
        : skill
      return [name, Object.freeze({ ...fit, digest: digestOf(fit) })]
    }),
  )
}

function fitFile(file: SkillFile, lacks: ReadonlySet<string>): SkillFile {
  if (!file.path.endsWith('.md')) return file
  const whole = Buffer.from(file.bytes).toString('utf8')
  const front = /^---\n[\s\S]*?\n---\n/.exec(whole)?.[0] ?? ''
  const body = whole.slice(front.length)
  const fit = fitted(body, lacks)
  if (fit === body) return file
  const bytes = Buffer.from(front + fit)
  return { ...file, bytes, digest: digestOfBytes(bytes) }
}

function digestOfBytes(bytes: Uint8Array): string {
  return `sha256:${fileDigest(bytes)}`
}

function digestOf(skill: Skill): string {
  const hash = createHash('sha256')
  for (const file of skill.files) hash.update(`${file.uri} ${file.digest}\n`)
  return `sha256:${hash.digest('hex')}`
}

/** Returns every file below `skills/`, by skill and by path inside it. */
function foldersOf(files: SiteFiles): Map<string, Map<string, Uint8Array>> {
  const folders = new Map<string, Map<string, Uint8Array>>()
  const add = (file: string, bytes: Uint8Array): void => {
    if (!file.startsWith('skills/')) return
    const [, name, ...rest] = file.split('/')
    // Files directly below `skills/` (a README) belong to no skill.
    if (name === undefined || rest.length === 0) return
    const folder = folders.get(name) ?? new Map<string, Uint8Array>()
    folders.set(name, folder.set(rest.join('/'), bytes))
  }
  for (const [file, document] of files.documents) add(file, document.bytes)
  for (const [file, bytes] of files.assets) add(file, bytes)
  return new Map([...folders].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function filesOf(name: string, paths: ReadonlyMap<string, Uint8Array>): SkillFile[] {
  const order = (path: string): string => (path === 'SKILL.md' ? '' : path)
  return [...paths]
    .sort(([a], [b]) => (order(a) < order(b) ? -1 : 1))
    .map(([path, bytes]) =>
      Object.freeze({
        uri: `skill://${name}/${path.split('/').map(encodeURIComponent).join('/')}`,
        path,
        mimeType: mimeTypeOf(path),
        bytes,
        digest: digestOfBytes(bytes),
        text: isUtf8(bytes),
      }),
    )
}

const mimeTypes: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  txt: 'text/plain',
  csv: 'text/csv',
  html: 'text/html',
  css: 'text/css',
  json: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  xml: 'application/xml',
  py: 'text/x-python',
  js: 'text/javascript',
  ts: 'text/x-typescript',
  sh: 'text/x-shellscript',
  sql: 'application/sql',
  pdf: 'application/pdf',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
}

function mimeTypeOf(path: string): string {
  const extension = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  return mimeTypes[extension] ?? 'application/octet-stream'
}

function titleOf(name: string): string {
  const words = name.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
