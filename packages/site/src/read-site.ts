import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { systemClock } from '#leaf/clock.ts'
import { findSecrets } from './find-secrets.ts'
import { listAgain, listSite, reasonOf, stampOf, type ListedFile, type Listing } from './list-site.ts'
import { parseSource } from './parse-source.ts'
import { fileFault, type Fault, type SiteFiles, type SourceDocument } from './site-files.ts'
import type { Noticed } from './watch-site.ts'

/** Limits on the size of a site; beyond them, a mistake (a database dump, a video) is likelier than a wish. */
export interface SiteLimits {
  /** Bytes of one YAML or markdown file that is parsed. */
  readonly documentBytes: number
  /** Bytes of any other file. */
  readonly assetBytes: number
  readonly totalBytes: number
  readonly files: number
}

/** The default limits. */
export const siteLimits: SiteLimits = {
  documentBytes: 2 * 1024 * 1024,
  assetBytes: 32 * 1024 * 1024,
  totalBytes: 512 * 1024 * 1024,
  files: 50_000,
}

/** A file of the previous reading, kept so that only changed files are read again. */
export interface CachedFile {
  readonly stamp: string
  /** True when the stamp alone proves that the file is unchanged. */
  readonly settled: boolean
  /** The file's line in the input of the site's digest. */
  readonly line: string
  readonly bytes: Uint8Array
  readonly document?: SourceDocument
  readonly faults: readonly Fault[]
}

/** The digest of a site that kept changing while it was read: equal to no site's, and worth a retry. */
export const restlessDigest = 'restless'

/** A cache for a caller that reads the same site again and again. */
export interface SiteCache {
  files: Map<string, CachedFile>
  /** The last listing; undefined when a file in it could not be read. */
  listing: Listing | undefined
}

/** Returns a cache before the first reading. */
export function emptyCache(): SiteCache {
  return { files: new Map(), listing: undefined }
}

/** Options of reading; a single reading of a site that nobody watches needs none. */
export interface ReadOptions {
  readonly cache?: SiteCache
  readonly limits?: SiteLimits
  /** The folders to read; all when absent. */
  readonly folders?: readonly string[]
  /** True while somebody is changing many files (git, when it holds its lock). */
  readonly busy?: () => Promise<boolean>
  /** Noticed changes: with them, files need not be looked at twice, nor unchanged ones at all. */
  readonly noticed?: Noticed | undefined
}

const maxAttempts = 10
const retryMilliseconds = 30
const busyMilliseconds = 5000
// File times are as coarse as the kernel's tick, or the file system's: two seconds on FAT.
const settledMilliseconds = 2000
// Parsing is synchronous, so requests get their turn about every 5 ms.
const sliceBytes = 32 * 1024
const sliceFiles = 1000
const readersAtOnce = 16

/**
 * Reads the whole site as it stood at one moment: when anything changes meanwhile, it is read again.
 * Never fails: everything that is wrong is in `faults`.
 */
export async function readSite(site: string, options: ReadOptions = {}): Promise<SiteFiles> {
  const folder = resolve(site)
  const cache: SiteCache = options.cache ?? emptyCache()
  const limits = options.limits ?? siteLimits
  for (let attempt = 1; ; attempt++) {
    await whileBusy(options.busy)
    const count = options.noticed?.count
    const places = options.noticed?.take()
    const known = places && cache.listing && listAgain(cache.listing, places)
    const listing = known ?? (await listSite(folder, options.folders))
    cache.listing = listing
    const reading = await readListed(folder, listing, cache, limits)
    if (await unchanged(folder, listing, count, options)) return reading
    if (attempt === maxAttempts) return restless(reading)
    await setTimeout(retryMilliseconds * attempt)
  }
}

/** Waits until nobody holds the site, but not for ever: a crash can leave a lock behind. */
async function whileBusy(busy: ReadOptions['busy']): Promise<void> {
  if (!busy) return
  for (let waited = 0; waited < busyMilliseconds && (await busy()); waited += retryMilliseconds) {
    await setTimeout(retryMilliseconds)
  }
}

/**
 * True when the site is still as listed. The lock is checked first: if it is free now, a holder during the
 * reading has finished, and its changes show in the listing that follows.
 */
async function unchanged(
  folder: string,
  before: Listing,
  count: number | undefined,
  { busy, folders, noticed }: ReadOptions,
): Promise<boolean> {
  if (await busy?.()) return false
  if (noticed) {
    // The event loop makes one whole turn, so that all changes until now are noticed.
    await setImmediate()
    await setImmediate()
    return noticed.count === count
  }
  const after = await listSite(folder, folders)
  return (
    after.files.length === before.files.length &&
    after.files.every((file, index) => {
      const was = before.files[index]!
      return file.path === was.path && file.stamp === was.stamp
    })
  )
}

function restless(reading: SiteFiles): SiteFiles {
  const message = `files kept changing during ${maxAttempts} readings; nothing of it was taken`
  return {
    ...reading,
    faults: [...reading.faults, fileFault('.', message)],
    digest: restlessDigest,
  }
}

async function readListed(
  folder: string,
  listing: Listing,
  cache: SiteCache,
  limits: SiteLimits,
): Promise<SiteFiles> {
  const excess = beyond(listing.files, limits)
  if (excess) {
    Object.assign(cache, emptyCache())
    return siteFilesOf(folder, cache.files, [...listing.faults, excess])
  }
  const faults = [...listing.faults]
  const isStale = ({ path, stamp }: ListedFile): boolean => {
    const known = cache.files.get(path)
    return !known?.settled || known.stamp !== stamp
  }
  const stale = listing.changed ?? listing.files.filter(isStale)
  let parsed = 0
  for (let start = 0; start < stale.length; start += readersAtOnce) {
    const batch = stale.slice(start, start + readersAtOnce)
    const contents = await Promise.all(batch.map((file) => contentOf(file, limits)))
    for (const [index, content] of contents.entries()) {
      const { path } = batch[index]!
      if (content === undefined || 'message' in content) {
        cache.files.delete(path)
        cache.listing = undefined
        if (content) faults.push(content)
        continue
      }
      const known = cache.files.get(path)
      const same = known?.line === content.line
      cache.files.set(
        path,
        same ? { ...known, ...content } : { ...content, ...interpret(path, content.bytes) },
      )
      parsed += same ? 0 : content.bytes.length
      if (parsed < sliceBytes) continue
      parsed = 0
      await setImmediate()
    }
  }
  await setImmediate()
  if (!listing.changed) cache.files = inOrder(listing.files, cache.files)
  return siteFilesOf(folder, cache.files, faults)
}

function inOrder(listed: readonly ListedFile[], files: SiteCache['files']): SiteCache['files'] {
  const ordered: SiteCache['files'] = new Map()
  for (const { path } of listed) {
    const file = files.get(path)
    if (file) ordered.set(path, file)
  }
  return ordered
}

function beyond(files: readonly ListedFile[], limits: SiteLimits): Fault | undefined {
  const bytes = files.reduce((sum, file) => sum + file.size, 0)
  if (files.length > limits.files)
    return fileFault('.', `the site has ${files.length} files; the most is ${limits.files}`)
  if (bytes > limits.totalBytes)
    return fileFault('.', `the site has ${bytes} bytes; the most is ${limits.totalBytes}`)
  return undefined
}

type Content = Pick<CachedFile, 'stamp' | 'settled' | 'line' | 'bytes'>

/** Reads the bytes of a file; undefined when it is gone; a fault when it cannot be read. */
async function contentOf(file: ListedFile, limits: SiteLimits): Promise<Content | Fault | undefined> {
  const most = isParsed(file.path) ? limits.documentBytes : limits.assetBytes
  const tooLarge = (size: number | bigint): Fault =>
    fileFault(file.path, `has ${size} bytes; the most for such a file is ${most}`)
  if (file.size > most) return tooLarge(file.size)
  try {
    // The target is free of links; a pipe put in its place must not block us.
    const handle = await open(file.target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await handle.stat({ bigint: true })
      if (!stats.isFile()) return fileFault(file.path, 'is neither a file nor a folder')
      if (stats.size > BigInt(most)) return tooLarge(stats.size)
      const bytes = await handle.readFile()
      if (bytes.length > most) return tooLarge(bytes.length)
      const changedAt = Number((stats.mtimeNs > stats.ctimeNs ? stats.mtimeNs : stats.ctimeNs) / 1_000_000n)
      const settled = systemClock.now() - changedAt > settledMilliseconds
      return { stamp: stampOf(stats), settled, line: digestLine(file.path, bytes), bytes }
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    return fileFault(file.path, `cannot be read: ${reasonOf(error)}`)
  }
}

/** True for files that are parsed: below `skills/` only each SKILL.md is, the files beside it are served as they are. */
export function isParsed(path: string): boolean {
  if (path.startsWith('skills/')) return /^skills\/[^/]+\/SKILL\.md$/.test(path)
  return /\.(?:ya?ml|md)$/.test(path)
}

/** Interprets a file's bytes: a document, an asset (neither document nor fault), or faults. */
export function interpret(path: string, bytes: Uint8Array): Pick<CachedFile, 'document' | 'faults'> {
  // Seeds are parsed by whoever needs them: they may be large, and are used once.
  if (!isParsed(path) || path.startsWith('config/seeds/')) return { faults: [] }
  const parsed = parseSource(path, bytes)
  if (!parsed.document || path === 'config/README.md') return parsed
  return { document: parsed.document, faults: findSecrets(parsed.document) }
}

/** Combines files that were read and interpreted into one site; requests get their turn when there are many. */
export async function siteFilesOf(
  folder: string,
  files: ReadonlyMap<string, Pick<CachedFile, 'line' | 'bytes' | 'document' | 'faults'>>,
  otherFaults: readonly Fault[],
): Promise<SiteFiles> {
  const documents = new Map<string, SourceDocument>()
  const assets = new Map<string, Uint8Array>()
  const faults = [...otherFaults]
  const hash = createHash('sha256')
  let lines = otherFaults.map((fault) => `${fault.file}\0!${fault.message}`)
  for (const [path, { line, bytes, document, faults: own }] of files) {
    lines.push(line)
    if (own.length > 0) faults.push(...own)
    if (document) documents.set(path, document)
    else if (own.length === 0) assets.set(path, bytes)
    if (lines.length <= sliceFiles) continue
    const next = lines.pop()!
    hash.update(`${lines.join('\n')}\n`)
    lines = [next]
    await setImmediate()
  }
  return { folder, documents, assets, faults, digest: hash.update(lines.join('\n')).digest('hex') }
}

/** Returns the line of a file in the input of its site's digest. */
export function digestLine(path: string, bytes: Uint8Array): string {
  return `${path}\0${fileDigest(bytes)}`
}

/** Returns the content hash that shows whether a file, or a text, is unchanged. */
export function fileDigest(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
