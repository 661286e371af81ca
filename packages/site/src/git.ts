/** The repository around a site, and following another one. */
export type { PullSource } from './fetch-site.ts'
export { type GitVersions, type NumberedRevision, NumberedVersions } from './numbered-versions.ts'
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
export { openRepository, type Repository } from './repository.ts'
