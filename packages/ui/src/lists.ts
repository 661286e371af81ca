/** Lists that are asked, ordered, kept as views, shown page by page, and answered as files. */
export * from './list-question.ts'
export * from './sheet.ts'
export * from './shown-list.ts'
