/** The query language for stored documents: queries are data that each store runs by itself. */
export { sorting } from './embedded/select.ts'
export { residueOf } from './postgres/translating/questions.ts'
export {
  all,
  always,
  any,
  asserted,
  bound,
  compared,
  type Condition,
  following,
  never,
  not,
  type SortKey,
  type Term,
  tester,
} from './questions/conditions.ts'
export { type Expression, holds, parseExpression } from './questions/expression.ts'
export { type Asker } from './questions/expression-functions.ts'
export { equal, order, roundTo } from './questions/expression-values.ts'
export {
  type DatePart,
  dateParts,
  type GroupAnswer,
  type GroupKey,
  type GroupQuestion,
  keyOfText,
  type Measure,
} from './questions/groups.ts'
export { placeOf } from './questions/places.ts'
export {
  type AskedWord,
  bestFirst,
  mistyped,
  respelt,
  splitWords,
  type WordAnswer,
  type WordHit,
} from './questions/words.ts'
