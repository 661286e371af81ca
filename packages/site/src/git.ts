/** The repository around a site, and following another one. */
export type { PullSource } from './fetch-site.ts'
export {
  cloneSite,
  finishCheckout,
  isEmptySite,
  type Pulled,
  type PullParts,
  pullSite,
  unfinishedCheckout,
  wasPulled,
} from './pull-site.ts'
export { type FileRevision, openRepository, type Repository } from './repository.ts'
