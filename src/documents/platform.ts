/** The immutable reading of what the site says about users' roles, doctypes, reports and tools. */
export interface Platform {
  readonly doctypes: ReadonlyMap<string, unknown>
}
