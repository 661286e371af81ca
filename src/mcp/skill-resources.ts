/** Skills as MCP resources: `skill://<name>/SKILL.md` and the files beside it, byte for byte as they are on disk. */
import type { Audit } from '../audit/audit.ts'
import { actorOf } from '../audit/event.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { Skill, SkillFile } from '../library/words.ts'
import type { Completion, ResourceContents, ResourceEntry, ResourceProvider } from './extras.ts'
import type { McpSnapshot } from './protocol.ts'

const scheme = 'skill://'
const template = 'skill://{name}/{+path}'
const maxCompletions = 100

/** The library's skills as a source of resources; each reading is counted and audited. */
export function skillResources(library: McpSnapshot['library'], audit: Audit): ResourceProvider {
  return {
    list: (principal) => library.skills(principal).map(resourceEntry),
    templates: (principal) =>
      library.skills(principal).length === 0
        ? []
        : [
            {
              uriTemplate: template,
              name: 'skill-file',
              title: 'A file of a skill',
              description: 'SKILL.md of a skill, or a file that it refers to',
            },
          ],
    read: async (principal, uri) => {
      const found = fileAt(library, principal, uri)
      if (!found) return undefined
      await countReading(library, audit, principal, found.skill, found.file)
      return [contentsOf(found.file)]
    },
    complete: async (principal, uriTemplate, argument, typed) =>
      uriTemplate === template ? complete(library.skills(principal), argument, typed) : undefined,
    digest: (principal) => library.skillsDigest(principal),
    version: (principal, uri) => fileAt(library, principal, uri)?.file.digest,
  }
}

function fileAt(
  library: McpSnapshot['library'],
  principal: Principal,
  uri: string,
): { skill: Skill; file: SkillFile } | undefined {
  if (!uri.startsWith(scheme)) return undefined
  // Only what the library lists is compared, byte for byte: there is no path to walk and none to escape from.
  const name = uri.slice(scheme.length).split('/', 1)[0]!
  try {
    const skill = library.skill(principal, name)
    const file = skill.files.find((one) => one.uri === uri)
    return file && { skill, file }
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  }
}

/** Only SKILL.md counts as reading the skill; every file is audited. */
async function countReading(
  library: McpSnapshot['library'],
  audit: Audit,
  principal: Principal,
  skill: Skill,
  file: SkillFile,
): Promise<void> {
  if (file === skill.files[0]) await library.countSkillRead(skill.name)
  void audit
    .record({
      ...actorOf(principal),
      type: 'skill.read',
      status: 'ok',
      target: file.uri.slice(scheme.length),
    })
    .catch(() => {})
}

/** Text only where the bytes are valid UTF-8: digests are over the bytes, and must come out again. */
function contentsOf(file: SkillFile): ResourceContents {
  const bytes = Buffer.from(file.bytes.buffer, file.bytes.byteOffset, file.bytes.byteLength)
  return {
    uri: file.uri,
    mimeType: file.mimeType,
    ...(file.text ? { text: bytes.toString('utf8') } : { blob: bytes.toString('base64') }),
  }
}

function resourceEntry(skill: Skill): ResourceEntry {
  const file = skill.files[0]!
  return {
    uri: file.uri,
    name: skill.name,
    title: skill.title,
    description: skill.description,
    mimeType: 'text/markdown',
    size: file.bytes.byteLength,
    annotations: { audience: ['assistant'], priority: 0.8 },
  }
}

function complete(skills: readonly Skill[], argument: string, typed: string): Completion {
  const candidates =
    argument === 'name'
      ? skills.map(({ name }) => name)
      : [...new Set(skills.flatMap(({ files }) => files.map(({ path }) => path)))]
  const values = candidates.filter((value) => value.startsWith(typed))
  return { values: values.slice(0, maxCompletions), total: values.length }
}
