export interface Library {
  readonly placeholder?: never
}
