/** How documents get their names. */

/** The naming of new documents: by a counter, a field, the caller, or at random. */
export type Naming =
  /** With `gaps` daemons take numbers in blocks, so that some are never used. */
  | { readonly rule: 'series'; readonly series: string; readonly gaps: boolean }
  | { readonly rule: 'field'; readonly field: string }
  | { readonly rule: 'prompt' }
  /** The table of others that holds the documents gives the name. */
  | { readonly rule: 'key' }
  | { readonly rule: 'hash' }
