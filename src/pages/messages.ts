import { join } from 'node:path'
import { messagesIn } from '#ui/pages.ts'

/** The texts of the pages, one file a language. */
export const messages = messagesIn(join(import.meta.dirname, 'messages'))
