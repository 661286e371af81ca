// @ts-check
/** Reads parts of a possibly malicious zip archive: counted, measured, never unpacked to disk. */
// @ts-expect-error The package comes without types.
import { fromBuffer } from 'yauzl'

const maxEntries = 10_000
const maxRatio = 300
const smallEnough = 10_000_000

/** @typedef {{ names: string[], read: (name: string) => Promise<AsyncIterable<Buffer>>, has: (name: string) => boolean }} Zip */

/** A fault of the file, worded for its sender. */
export class FileFault extends Error {}

/**
 * Opens an archive; returns its parts by name.
 * @param {Buffer} bytes @param {number} maxUnpacked
 * @returns {Promise<Zip>}
 */
export async function openZip(bytes, maxUnpacked) {
  /** @type {any} */
  const archive = await new Promise((resolve, reject) =>
    fromBuffer(
      bytes,
      // yauzl itself refuses absolute paths, "..", and sizes that do not match.
      { lazyEntries: true, autoClose: false, validateEntrySizes: true, strictFileNames: true },
      (/** @type {Error | null} */ error, /** @type {any} */ opened) =>
        error ? reject(new FileFault(`is not a readable archive: ${error.message}`)) : resolve(opened),
    ),
  )
  /** @type {Map<string, any>} */
  const entries = new Map()
  let unpacked = 0
  await new Promise((resolve, reject) => {
    archive.on('error', (/** @type {Error} */ error) =>
      reject(new FileFault(`is not a readable archive: ${error.message}`)),
    )
    archive.on('end', resolve)
    archive.on('entry', (/** @type {any} */ entry) => {
      const { fileName, uncompressedSize, compressedSize } = entry
      unpacked += uncompressedSize
      if (entries.size >= maxEntries) return reject(new FileFault(`has more than ${maxEntries} parts`))
      if (entries.has(fileName))
        return reject(new FileFault(`has two parts named ${JSON.stringify(fileName)}`))
      if (unpacked > maxUnpacked) return reject(new FileFault(`unpacks to more than ${maxUnpacked} bytes`))
      if (uncompressedSize > smallEnough && uncompressedSize > compressedSize * maxRatio)
        return reject(new FileFault('is packed more tightly than documents are'))
      entries.set(fileName, entry)
      archive.readEntry()
    })
    archive.readEntry()
  })
  return {
    names: [...entries.keys()],
    has: (name) => entries.has(name),
    read: async (name) => {
      const entry = entries.get(name)
      if (!entry) throw new FileFault(`lacks its part ${name}`)
      if (entry.isEncrypted()) throw new FileFault('is encrypted')
      return await new Promise((resolve, reject) =>
        archive.openReadStream(entry, (/** @type {Error | null} */ error, /** @type {any} */ stream) =>
          error ? reject(new FileFault(`has a part that cannot be read: ${error.message}`)) : resolve(stream),
        ),
      )
    },
  }
}
