import type { Audit } from '../audit/audit.ts'
import type { Library } from '../library/library.ts'
import type { Skill } from '../library/words.ts'
import type { Principal } from '../core/principal.ts'
import type { ListedSkill, SkillShelf } from '../pages/skills-endpoint.ts'
import { viewed } from './viewing.ts'

/** What the pages of skills show, as the user may read them; that they look is told like every reading. */
export function createSkillShelf(libraryOf: (principal: Principal) => Library, audit: Audit): SkillShelf {
  return {
    list: (user) =>
      viewed(audit, user, { type: 'skill.view' }, (principal) =>
        Promise.resolve(libraryOf(principal).skills(principal).map(listed)),
      ),
    one: (user, name) =>
      viewed(audit, user, { type: 'skill.view', target: name }, (principal) => {
        const skill = libraryOf(principal).skill(principal, name)
        return Promise.resolve({ ...listed(skill), tools: skill.tools, files: skill.files })
      }),
  }
}

function listed({ name, title, description }: Skill): ListedSkill {
  return { name, title, description }
}
