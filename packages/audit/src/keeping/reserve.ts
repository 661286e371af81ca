import { open, stat, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { privateFile } from '#leaf/files.ts'
import type { Log } from '#leaf/log.ts'
import type { LogParts } from '../writing.ts'

/** The interval at which the disk is checked for room again. */
export const reserveMilliseconds = 500
const piece = 1 << 16

/** The state of the reserve's room on the disk. */
type Room = 'none' | 'kept' | 'given up'

/**
 * Reserved room on the disk for the day when it is full: once given up, it lets some thousand events of reads be recorded,
 * so that people can still look things up. Changes of data wait until there is room for the reserve again.
 */
export class Reserve {
  readonly #path: string
  readonly #folder: string
  readonly #bytes: number
  readonly #log: Log
  #room: Room = 'none'
  #timer: NodeJS.Timeout | undefined

  constructor({ folder, reserveBytes = 0, log }: Pick<LogParts, 'folder' | 'reserveBytes' | 'log'>) {
    this.#folder = folder
    this.#path = join(folder, 'reserve')
    this.#bytes = reserveBytes
    this.#log = log
  }

  get isGivenUp(): boolean {
    return this.#room === 'given up'
  }

  /** Takes the room when there is plenty; returns whether it is reserved now. */
  async keep(): Promise<boolean> {
    return this.#keep().catch((error: unknown) => {
      this.#log.warn('no reserve could be kept for the audit log', { error })
      return false
    })
  }

  async #keep(): Promise<boolean> {
    if (this.#bytes === 0) return false
    if (await this.#isThere()) {
      this.#room = 'kept'
      return true
    }
    // The reserve itself must not fill the disk.
    const { bavail, bsize } = await statfs(this.#folder)
    if (bavail * bsize < 2 * this.#bytes) return false
    await unlink(this.#path).catch(() => undefined)
    const file = await open(this.#path, 'wx', privateFile)
    try {
      // Written in full, since a file of which only the length is set takes no room.
      for (let at = 0; at < this.#bytes; at += piece)
        await file.write(Buffer.alloc(Math.min(piece, this.#bytes - at), 1))
    } finally {
      await file.close()
    }
    this.#room = 'kept'
    return true
  }

  /** True when an earlier run took the room: all of it, on the disk. */
  async #isThere(): Promise<boolean> {
    const found = await stat(this.#path).catch(() => undefined)
    return found !== undefined && found.size === this.#bytes && found.blocks * 512 >= this.#bytes
  }

  /** Gives up the room for an append that found none; false for another error, or when there is nothing to give. */
  async giveUp(error: unknown): Promise<boolean> {
    if (!isFull(error) || this.#room !== 'kept') return false
    await unlink(this.#path)
    this.#room = 'given up'
    this.#timer = setInterval(() => void this.#takeBack(), reserveMilliseconds).unref()
    return true
  }

  async #takeBack(): Promise<void> {
    if (!(await this.keep())) return
    this.close()
    this.#log.info('the audit log has its reserve again')
  }

  /** Stops taking the room back. */
  close(): void {
    clearInterval(this.#timer)
  }
}

/** True when a disk is full: this machine's, or the database's by its own report (its SQLSTATE). */
function isFull(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if ('code' in at && ['ENOSPC', 'EDQUOT', '53100'].includes(String(at.code))) return true
  return false
}
