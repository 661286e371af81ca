/** Pages: their words and views, the files that they load, markdown, and how they go over the wire. */
export * from './assets.ts'
export * from './messages.ts'
export { packPage } from './packing.ts'
export * from './views.ts'

/** Loads the reader of markdown, which few pages need. */
export const loadMarkdown = () => import('./markdown.ts')
