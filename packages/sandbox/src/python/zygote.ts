/**
 * An interpreter with its libraries loaded, of which every program gets a fork: milliseconds to
 * start, and nothing shared except the state from before any program came. The interpreter itself runs
 * no program; each fork isolates itself (`runner.py`) before it reads its first byte.
 */
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import type { Isolation, SandboxView } from '../isolation/bubblewrap.ts'
import { Child, endedEarly, type SpeechLimits } from '../isolation/child.ts'
import type { Job } from '../isolation/cgroups.ts'
import { mostProcesses, spawnChild } from '../isolation/spawned.ts'
import { readNumber, readReady } from './protocol.ts'

const runner = join(import.meta.dirname, 'runner.py')
/** Milliseconds in which a killed fork has to end; otherwise the interpreter is killed with all forks. */
const patience = 5000

/** A running interpreter. */
export class Zygote {
  /** The versions of Python and of the libraries that were found. */
  readonly versions: Readonly<Record<string, string>>
  #child: Child
  #folder: string
  #newJob: () => Job | undefined
  #last = 0
  #forks = new Map<number, (status: string) => void>()

  private constructor(
    child: Child,
    folder: string,
    versions: Readonly<Record<string, string>>,
    newJob: () => Job | undefined,
  ) {
    this.#child = child
    this.#newJob = newJob
    this.#folder = folder
    this.versions = versions
    void this.#listen()
  }

  /** Starts an interpreter. AppError `unavailable` when it cannot run here. */
  static async start(
    isolation: Isolation & { kind: 'bubblewrap' },
    interpreter: string,
    view: SandboxView & { readonly scratchBytes: number },
    memoryBytes: number,
  ): Promise<Zygote> {
    const { cgroups } = isolation
    const newJob = (): Job | undefined =>
      typeof cgroups === 'object' ? cgroups.job({ memoryBytes, processes: mostProcesses }) : undefined
    const folder = mkdtempSync(join(tmpdir(), 'assistant-core-'))
    if (isolation.runAs) chownSync(folder, isolation.runAs.uid, isolation.runAs.gid)
    const filter = Buffer.from(isolation.seccomp ?? []).toString('base64')
    const child = spawnChild({
      isolation,
      view: { ...view, showAs: { [runner]: '/runner.py' }, scratchBytes: 1 << 20, forks: folder },
      // Isolated from the environment and the user's own packages, and writing no byte code.
      program: [interpreter, '-I', '-B', '/runner.py', filter, String(view.scratchBytes), 'numpy', 'pandas'],
      limits: { fileBytes: view.scratchBytes, openFiles: 256 },
      maxMessageBytes: 10_000,
      maxOutputBytes: 10_000,
    })
    try {
      const said = await child.within(60_000, 'took too long to start', () => child.receive())
      const versions = readReady(said)
      if (!versions) throw new AppError('unavailable', 'the Python interpreter did not start as it should')
      return new Zygote(child, folder, versions, newJob)
    } catch (error) {
      child.kill()
      rmSync(folder, { recursive: true, force: true })
      throw endedEarly(error, 'the Python interpreter', 'unavailable')
    }
  }

  get alive(): boolean {
    return this.#child.alive
  }

  /** Forks a process for one program. */
  async fork(limits: SpeechLimits): Promise<Child> {
    const id = ++this.#last
    const ended = new Promise<string>((resolve) => void this.#forks.set(id, resolve))
    const [channel, output] = await Promise.all([this.#connect(id, 'c'), this.#connect(id, 'o')])
    const kill = (): void => {
      if (!this.#forks.has(id)) return
      void this.#child.send({ kill: id }).catch(() => {})
      const timer = setTimeout(() => this.#child.kill(), patience)
      void ended.then(() => clearTimeout(timer))
    }
    const job = this.#newJob()
    const child = new Child(limits, { channel, output, ended, kill, job })
    // It sends its number before it isolates itself; no program has come near it yet.
    const number = readNumber(await child.receive())
    if (number === undefined)
      throw new AppError('unavailable', 'the Python interpreter did not fork as it should')
    job?.add(number)
    return child
  }

  /** Ends the interpreter and all of its forks. */
  async close(): Promise<void> {
    this.#child.kill()
    await this.#child.ended
  }

  async #connect(id: number, what: 'c' | 'o'): Promise<Socket> {
    const socket = connect(join(this.#folder, 'socket'))
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', () => reject(new AppError('unavailable', 'the Python interpreter has ended')))
    })
    socket.write(id.toString(16).padStart(16, '0') + what)
    return socket
  }

  /** Reports the ends of forks, until the interpreter itself ends. */
  async #listen(): Promise<void> {
    try {
      for (;;) {
        const { ended, status } = (await this.#child.receive()) as { ended: number; status: string }
        this.#forks.get(ended)?.(status)
        this.#forks.delete(ended)
      }
    } catch {
      for (const resolve of this.#forks.values()) resolve('ended with the interpreter')
      this.#forks.clear()
      rmSync(this.#folder, { recursive: true, force: true })
    }
  }
}
