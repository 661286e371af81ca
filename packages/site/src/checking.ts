/** Checking documents of a site: against schemas, for names that nothing has, for secrets; and faults at their places. */
export { causesFirst } from './causes.ts'
export {
  checkDocument,
  checkInPart,
  checkReferences,
  type NameSet,
  requiredDocument,
} from './check-document.ts'
export { findSecrets } from './find-secrets.ts'
export { placeText, SiteFault, wholeMessage } from './site-fault.ts'
export { placeInStatement, statementFault } from './statement-fault.ts'
