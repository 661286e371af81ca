/** Asking a database of others: statements in transactions that only read, and what its errors mean. */
export { faultOf } from './faults.ts'
export type { Ask } from './mysql-faults.ts'
export { isDenied, isDoubtful, sourceRefusal } from './source-door.ts'
export { grace } from './source-limits.ts'
export { inReadOnly, tellCaller } from './source-pool.ts'
export { typesOf } from './sql-values.ts'
