/** Append-only files of lines that survive a crash. */
export { AppendFile } from './lines/append-file.ts'
export { LineLog } from './lines/line-log.ts'
export { type RawLine, readBackward, readLines } from './lines/read-lines.ts'
