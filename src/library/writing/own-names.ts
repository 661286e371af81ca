/** A person's own names: templates in the person's folder have names that only the owner uses, until they are offered. */
import { systemManager, type Principal } from '../../core/principal.ts'
import type { PromptTemplate, Visibility } from '../words.ts'

/** A thing with its name, and its id where it has one. */
interface Named {
  readonly visibility: Visibility
  readonly id?: string
  readonly name: string
}

/** True when the name is its owner's alone: the thing stands in the owner's folder, and was offered to nobody. */
export function isOwnName({ id, name, visibility }: Named): boolean {
  return id !== undefined && id !== name && visibility === 'Private'
}

/** Returns the name under which a user gets a template. */
export function promptNameFor({ user }: Pick<Principal, 'user'>, template: PromptTemplate): string {
  return isOwnName(template) && template.owner !== user ? template.id : template.name
}

/** Returns the folder of new templates of a principal. */
export function folderOf(principal: Principal): string {
  return principal.roles.has(systemManager) ? 'prompts' : folderOfPerson(principal.user)
}

/** Returns the folder of a person's own templates, which have names of their own. */
export function folderOfPerson(user: string): string {
  const plain = user.replace(/[^a-z0-9@._+-]/gu, (character) => `%${Buffer.from(character).toString('hex')}`)
  return `prompts/users/${plain}`
}

/** Returns the id of a template; in an owner's folder, names belong to the owner. */
export function templateId(file: string, owner: string, name: string): string {
  return owner !== '' && file.startsWith(`${folderOfPerson(owner)}/`) ? `${owner}:${name}` : name
}

/** True for users; the operator of the command line cannot own a template. */
export function isPerson(principal: Principal): boolean {
  return principal.user.includes('@')
}
