import { open, stat, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { privateFile } from '../core/files.ts'

const piece = 1 << 16

/** The state of the reserve's room on the disk. */
type Room = 'none' | 'kept' | 'given up'

/**
 * Room on the disk that is kept for the day when it is full: given up, it lets some thousand events of reading be told,
 * so that people can still look things up. What changes data waits until there is room for the reserve again.
 */
export class Reserve {
  readonly #path: string
  readonly #folder: string
  readonly #bytes: number
  #room: Room = 'none'

  constructor(folder: string, bytes: number) {
    this.#folder = folder
    this.#path = join(folder, 'reserve')
    this.#bytes = bytes
  }

  get isGivenUp(): boolean {
    return this.#room === 'given up'
  }

  /** Takes the room when there is plenty; answers whether it is kept now. */
  async keep(): Promise<boolean> {
    if (this.#bytes === 0) return false
    if (await this.#isThere()) {
      this.#room = 'kept'
      return true
    }
    // The reserve must not be what fills the disk.
    const { bavail, bsize } = await statfs(this.#folder)
    if (bavail * bsize < 2 * this.#bytes) return false
    await unlink(this.#path).catch(() => undefined)
    const file = await open(this.#path, 'wx', privateFile)
    try {
      // Written, since a file of which only the length is set takes no room.
      for (let at = 0; at < this.#bytes; at += piece)
        await file.write(Buffer.alloc(Math.min(piece, this.#bytes - at), 1))
    } finally {
      await file.close()
    }
    this.#room = 'kept'
    return true
  }

  /** Whether the room was taken before, by a run that ended: all of it, on the disk. */
  async #isThere(): Promise<boolean> {
    const found = await stat(this.#path).catch(() => undefined)
    return found !== undefined && found.size === this.#bytes && found.blocks * 512 >= this.#bytes
  }

  /** Gives up the room for an append that found none; false when that was something else, or there is nothing to give. */
  async giveUp(error: unknown): Promise<boolean> {
    const isFull =
      error instanceof Error && 'code' in error && ['ENOSPC', 'EDQUOT'].includes(String(error.code))
    if (!isFull || this.#room !== 'kept') return false
    await unlink(this.#path)
    this.#room = 'given up'
    return true
  }
}
