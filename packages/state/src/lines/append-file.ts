import { constants } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { privateFile } from '#leaf/files.ts'

// O_DSYNC: a write is on disk when it returns, as if fdatasync followed. A second call would cost 20 µs more.
const synced = constants.O_RDWR | constants.O_DSYNC

/** An append-only file: each append is on disk when it resolves, or leaves no trace. */
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

  /** Creates a new file; fails when there is one. */
  static async create(path: string): Promise<AppendFile> {
    return new AppendFile(
      path,
      await open(path, synced | constants.O_CREAT | constants.O_EXCL, privateFile),
      0,
    )
  }

  /** Opens an existing file and truncates it to the first `length` bytes. */
  static async open(path: string, length: number): Promise<AppendFile> {
    const file = new AppendFile(path, await open(path, synced), length)
    file.#torn = true
    await file.repair()
    return file
  }

  /** The number of bytes known to be on disk. */
  get length(): number {
    return this.#length
  }

  /** Appends and waits for the disk. When that fails, a partial write is cut off again. */
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
      // If truncating fails too, the next append does it before it writes; the first error is the one to report.
      await this.repair().catch(() => undefined)
      throw error
    }
    this.#length += bytes.length
  }

  /** Truncates what a failed append left. */
  async repair(): Promise<void> {
    if (!this.#torn) return
    await this.#handle.truncate(this.#length)
    await this.#handle.datasync()
    this.#torn = false
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  /** Deletes the file; for one whose creation failed. */
  async remove(): Promise<void> {
    await unlink(this.path)
  }
}
