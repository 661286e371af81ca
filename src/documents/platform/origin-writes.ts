/** What may be written to documents that lie elsewhere; nothing that is not said. */
export interface OriginWrites {
  /** The fields of a new document; `name` is the key. */
  readonly create?: readonly string[]
  /** The fields that may change. */
  readonly change?: readonly string[]
  readonly delete?: boolean
}
