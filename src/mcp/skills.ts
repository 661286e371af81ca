/** Serves the skills extension (`io.modelcontextprotocol/skills`): skills with the digests of their files, and directories. */
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { Skill, SkillFile } from '../library/words.ts'
import type { Call, McpSnapshot, Reply } from './call.ts'
import { errorCodes, type Json, JsonRpcError, textParam } from './json-rpc.ts'
import type { Pages } from './lists.ts'

/** The URI scheme of every file of a skill. */
export const skillScheme = 'skill://'

/** Lists the skills that this principal may read, each with all its files. */
export function listSkills(call: Call, { listPages }: { readonly listPages: Pages }): Reply {
  const { library } = call.snapshot
  return listPages.page(call, {
    field: 'skills',
    digest: library.skillsDigest(call.principal),
    items: () => library.skills(call.principal),
    keyOf: ({ name }) => name,
    shape: skillEntry,
  })
}

/** Returns one skill by the URI of its SKILL.md. */
export function getSkill(call: Call): Reply {
  const uri = textParam(call.params, 'uri')
  const skill = call.snapshot.library.skills(call.principal).find(({ files }) => files[0]!.uri === uri)
  if (!skill) throw unknownSkill(uri)
  return { skill: skillEntry(skill) }
}

/** Lists the direct children of a directory inside a skill; the skill's root is one. */
export function readDirectory(call: Call, { listPages }: { readonly listPages: Pages }): Reply {
  const uri = textParam(call.params, 'uri')
  const { library } = call.snapshot
  const folder = uri.endsWith('/') ? uri.slice(0, -1) : uri
  const children = childrenOf(library.skills(call.principal), folder)
  if (children.length === 0) throw unknownSkill(uri)
  return listPages.page(call, {
    field: 'resources',
    digest: `${folder}\n${library.skillsDigest(call.principal)}`,
    items: () => children,
    keyOf: (entry) => String(entry['uri']),
    shape: (entry) => entry,
  })
}

/** Returns the file of a skill that the principal may read, by its URI. */
export function skillFileAt(
  library: McpSnapshot['library'],
  principal: Principal,
  uri: string,
): { readonly skill: Skill; readonly file: SkillFile } | undefined {
  if (!uri.startsWith(skillScheme)) return undefined
  // The URI is only compared, byte for byte, with listed files: there is no path to walk and none to escape from.
  const name = uri.slice(skillScheme.length).split('/', 1)[0]!
  try {
    const skill = library.skill(principal, name)
    const file = skill.files.find((one) => one.uri === uri)
    return file && { skill, file }
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  }
}

/** Returns the skill that teaches a tool. */
export function skillFor(skills: readonly Skill[], tool: string): Skill | undefined {
  return skills.find((skill) => skill.tools.includes(tool))
}

function skillEntry(skill: Skill): Json {
  return {
    uri: skill.files[0]!.uri,
    frontmatter: skill.frontmatter,
    resources: skill.files.map(({ uri, digest, bytes }) => ({ uri, digest, size: bytes.byteLength })),
  }
}

function childrenOf(skills: readonly Skill[], folder: string): Json[] {
  const prefix = `${folder}/`
  const children = new Map<string, Json>()
  for (const { files } of skills) {
    for (const file of files) {
      if (!file.uri.startsWith(prefix)) continue
      const [name, ...below] = file.uri.slice(prefix.length).split('/') as [string, ...string[]]
      children.set(
        name,
        below.length > 0
          ? { uri: `${prefix}${name}`, name, mimeType: 'inode/directory' }
          : { uri: file.uri, name, mimeType: file.mimeType, size: file.bytes.byteLength },
      )
    }
  }
  return folder.startsWith(skillScheme) ? [...children.values()] : []
}

function unknownSkill(uri: string): JsonRpcError {
  return new JsonRpcError(
    errorCodes.invalidParams,
    `no skill or directory ${JSON.stringify(uri)} for this user`,
    {
      data: { uri },
    },
  )
}
