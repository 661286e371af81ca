import type { Principal } from '../core/principal.ts'

export interface Documents {
  readonly placeholder?: Principal
}
