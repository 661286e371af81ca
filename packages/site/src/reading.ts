/** Reading a site once: its files as they lie there or at a revision, one file from bytes, and writing one. */
export { exists, listSite, reasonOf } from './list-site.ts'
export { parseAhead, parseSource } from './parse-source.ts'
export { fileDigest, interpret, isParsed, readSite } from './read-site.ts'
export { readSiteAt } from './read-site-at.ts'
export { rewriteFile } from './rewrite-file.ts'
