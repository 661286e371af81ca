/** The tools of the program: to add one, write its file and its line here. */
import { createDocument } from './create-document.ts'
import { getDocument } from './get-document.ts'
import { listDocuments } from './list-documents.ts'
import { listSkills } from './list-skills.ts'
import { readSkill } from './read-skill.ts'
import type { Tool } from './tool.ts'

export const builtInTools: readonly Tool[] = [
  listDocuments,
  getDocument,
  createDocument,
  listSkills,
  readSkill,
]
