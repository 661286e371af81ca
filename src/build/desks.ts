import { subjects } from './approving.ts'
import { createAuditor } from './auditor.ts'
import { createDesk } from './desk.ts'
import { createPromptDesk } from './prompt-desk.ts'
import { createRecords } from './records.ts'
import type { Services } from './services.ts'
import { createSkillShelf } from './skill-shelf.ts'
import type { Snapshot } from './snapshot.ts'

/** What the pages for users show and do, each over the reading of the site that is in use. */
export function createDesks(services: Services) {
  const { site, audit } = services
  const company = (): Snapshot => site.current()
  return {
    company,
    auditor: createAuditor(services),
    desk: createDesk(company, services),
    prompts: createPromptDesk(services),
    records: createRecords(() => company().documents, audit),
    skills: createSkillShelf((principal) => company().library.for(principal), audit),
    subjectOf: subjects(() => company().documents, audit),
  }
}
