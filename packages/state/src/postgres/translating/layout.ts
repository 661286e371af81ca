/** Where the documents of a collection lie in a database: the one parameter of the translation of questions to SQL. */
import type { comparison, SortKey } from '../../questions/conditions.ts'
import type { AskedWord, WordQuestion } from '../../questions/words.ts'
import type { Stored } from '../../store.ts'
import type { Bind, Dialect } from './dialect.ts'
import type { Calculated } from './terms.ts'

/** A comparison of one field with a constant. */
export type Compared = NonNullable<ReturnType<typeof comparison>>

/** A field that is counted, added up or grouped by, in SQL: NULL where it holds no number, or no text. */
export interface Measured {
  readonly number: string
  readonly text: string
}

/**
 * The layout of a table. `d` is the row of a document. What it returns is SQL that is true or false of a row, never NULL,
 * or undefined where it has no words: then the condition is tested on each document after it was read.
 */
export interface Layout {
  readonly dialect: Dialect
  /** The FROM clause. */
  readonly from: string
  /** Conditions that every document of the collection meets. */
  readonly base: readonly string[]
  /** A document as one text, which `read` reads. */
  readonly body: string
  readonly read: (body: unknown) => Stored
  /** What ends each sort order, so that there are no ties. */
  readonly tie: string
  /** The most documents on which a condition without words is tested. */
  readonly mostTested: number
  /** Returns the sort expression of a key. */
  order(key: SortKey): string
  term(field: string, column?: string): Calculated | undefined
  /** Returns a text as the database can hold it. */
  text(value: string): string | undefined
  compared(one: Compared, bind: Bind): string | undefined
  /** A condition on one field, for where no index helps. */
  unindexed(one: Compared, bind: Bind): string | undefined
  /** The field in lower case begins with a text. */
  begins(field: string, start: string, bind: Bind): string | undefined
  /** A text stands in a list, in another text, or in a column of rows. */
  readonly within: (
    field: string,
    column: string | undefined,
    value: string,
    bind: Bind,
  ) => string | undefined
  /** The text in a field, or one of its list or of a column of its rows, is among the wanted. */
  shares(field: string, column: string | undefined, wanted: readonly string[], bind: Bind): string | undefined
  /** A field has a value or, as a list, holds it. */
  holding(field: string, wanted: unknown, bind: Bind): string | undefined
  /** A condition that every document after a cursor meets, in a form that an index can use. */
  beyond(key: SortKey, value: unknown, bind: Bind): string | undefined
  measured(field: string): Measured
  /** The document has the words. */
  hasWords(asked: WordQuestion, bind: Bind): string
  /** One of the fields has a word itself, or one that stands for it. */
  readonly hasWord: (asked: AskedWord, paths: readonly string[], how: 'same' | 'near', bind: Bind) => string
  /** The columns of the key. */
  readonly keys: readonly string[]
  /** The document's id as SQL, which `readId` reads. */
  readonly id: string
  readonly readId: (id: unknown) => string
}
