/** Lists as files. */
export { answerSheet, sheetFormat } from './sheet.ts'
