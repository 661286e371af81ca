import { constants } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { privateFile } from '../core/files.ts'

// A write is on disk when it returns, as if fdatasync followed: one call, where two would cost 20 µs more.
const synced = constants.O_RDWR | constants.O_DSYNC

/** A file that only grows, by whole appends: each is on disk when it is answered, or leaves no trace. */
export class AppendFile {
  readonly path: string
  readonly #handle: FileHandle
  #length: number
  #torn = false

  private constructor(path: string, handle: FileHandle, length: number) {
    this.path = path
    this.#handle = handle
    this.#length = length
  }

  /** A new file; fails when there is one. */
  static async create(path: string): Promise<AppendFile> {
    return new AppendFile(
      path,
      await open(path, synced | constants.O_CREAT | constants.O_EXCL, privateFile),
      0,
    )
  }

  /** An existing file, of which only the first `length` bytes are kept. */
  static async open(path: string, length: number): Promise<AppendFile> {
    const file = new AppendFile(path, await open(path, synced), length)
    file.#torn = true
    await file.repair()
    return file
  }

  /** The bytes that are known to be on disk. */
  get length(): number {
    return this.#length
  }

  /** Appends and waits for the disk. When that fails, what was half written is cut off again. */
  async append(bytes: Uint8Array): Promise<void> {
    await this.repair()
    try {
      let written = 0
      while (written < bytes.length) {
        const { bytesWritten } = await this.#handle.write(
          bytes,
          written,
          bytes.length - written,
          this.#length + written,
        )
        written += bytesWritten
      }
    } catch (error) {
      this.#torn = true
      // If cutting fails too, the next append does it before it writes; the first fault is the one to tell.
      await this.repair().catch(() => undefined)
      throw error
    }
    this.#length += bytes.length
  }

  /** Cuts off what a failed append left. */
  async repair(): Promise<void> {
    if (!this.#torn) return
    await this.#handle.truncate(this.#length)
    await this.#handle.datasync()
    this.#torn = false
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  /** Takes the file away; for one whose making failed. */
  async remove(): Promise<void> {
    await unlink(this.path)
  }
}
