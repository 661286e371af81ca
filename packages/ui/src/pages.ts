/** Pages: their words, their markdown, and how they go over the wire. */
export { isLanguage, type Language, languages, type Messages, messagesIn } from './messages.ts'
export { packingFiles, packPage } from './packing.ts'

/** Loads the reader of markdown, which few pages need. */
export const loadMarkdown = () => import('./markdown.ts')
