/**
 * A cgroup for each job (cgroup v2), where the daemon may divide its own (`Delegate=yes` in its unit): the one limit that
 * counts all that a job makes the kernel keep, files and sockets included, and the one count of what it cost.
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '../../core/errors.ts'
import type { Cost } from '../../core/shown.ts'

/** What all processes of a job may have together. */
export interface JobLimits {
  readonly memoryBytes?: number
  readonly processes: number
}

/** Where the kernel shows cgroups; tests give folders of their own. */
export interface CgroupPlaces {
  readonly root?: string
  /** What says in which cgroup this process is. */
  readonly own?: string
}

const [daemonFolder, jobPrefix] = ['daemon', 'job-']

/** The part of the tree that is ours. */
export class Cgroups {
  readonly #folder: string
  #last = 0

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Moves this process into a leaf of its own, so that jobs can have others beside it; or says why there are none here. */
  static open({ root = '/sys/fs/cgroup', own = '/proc/self/cgroup' }: CgroupPlaces = {}): Cgroups | string {
    try {
      const [, path] = /^0::(\/.*)$/m.exec(readFileSync(own, 'utf8')) ?? []
      if (path === undefined) return 'this process is in no cgroup of version 2'
      // Taken over from a daemon that the unit's own program became.
      const folder = join(
        root,
        path.endsWith(`/${daemonFolder}`) ? path.slice(0, -daemonFolder.length - 1) : path,
      )
      const controllers = readFileSync(join(folder, 'cgroup.controllers'), 'utf8').trim().split(' ')
      const missing = ['memory', 'pids'].filter((name) => !controllers.includes(name))
      if (missing.length > 0) return `the cgroup of this process has no ${missing.join(' and ')} controller`
      // A unit has its cgroup for itself; that of a terminal is not ours, though root could divide it.
      const pids = readFileSync(join(folder, 'cgroup.procs'), 'utf8').trim().split('\n')
      if (pids.some((pid) => pid !== '' && pid !== String(process.pid)))
        return 'other programs are in the cgroup of this process'
      const leaf = join(folder, daemonFolder)
      mkdirSync(leaf, { recursive: true })
      writeFileSync(join(leaf, 'cgroup.procs'), String(process.pid))
      const cgroups = new Cgroups(folder)
      writeFileSync(join(folder, 'cgroup.subtree_control'), '+memory +pids')
      for (const name of readdirSync(folder))
        // One that cannot go yet keeps its name.
        if (name.startsWith(jobPrefix) && !remove(join(folder, name)))
          cgroups.#last = Math.max(cgroups.#last, Number(name.slice(jobPrefix.length)))
      return cgroups
    } catch (error) {
      return `its cgroup is not the daemon's to divide: ${messageOf(error)}`
    }
  }

  /** A cgroup without processes yet. */
  job({ memoryBytes, processes }: JobLimits): Job {
    const folder = join(this.#folder, `${jobPrefix}${++this.#last}`)
    mkdirSync(folder)
    writeFileSync(join(folder, 'pids.max'), String(processes))
    if (memoryBytes !== undefined) {
      writeFileSync(join(folder, 'memory.max'), String(memoryBytes))
      // What is over goes as a whole, and not one process of it.
      writeFileSync(join(folder, 'memory.oom.group'), '1')
      // Only where the machine has swap.
      attempt(() => writeFileSync(join(folder, 'memory.swap.max'), '0', { flag: 'r+' }))
    }
    return new Job(folder)
  }
}

/** The cgroup of one job. */
export class Job {
  readonly #folder: string
  #seconds = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Takes in a process, by its number on the machine, and all that it starts from now on. */
  add(pid: number): void {
    writeFileSync(join(this.#folder, 'cgroup.procs'), String(pid))
  }

  /** What it took since this was last asked. */
  cost(): Cost {
    const [, micros = '0'] = /^usage_usec (\d+)$/m.exec(this.#read('cpu.stat')) ?? []
    const before = this.#seconds
    this.#seconds = Number(micros) / 1e6
    // Before Linux 5.19 nobody remembers the most.
    const bytes = Number(this.#read('memory.peak') || this.#read('memory.current'))
    return { cpu_seconds: Number((this.#seconds - before).toFixed(3)), memory_bytes: bytes }
  }

  /** Ends whatever is left in it, and takes it away. */
  async end(): Promise<void> {
    attempt(() => writeFileSync(join(this.#folder, 'cgroup.kill'), '1', { flag: 'r+' }))
    // What was killed still counts until its parent has heard; nobody waits for that to come to an end.
    for (let pause = 50; pause < 60_000 && !remove(this.#folder); pause *= 2)
      await wait(pause, undefined, { ref: false })
  }

  #read(name: string): string {
    return attempt(() => readFileSync(join(this.#folder, name), 'utf8').trim()) ?? ''
  }
}

function remove(folder: string): boolean {
  return attempt(() => (rmdirSync(folder), true)) ?? false
}

/** What the kernel does not have here is done without. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
