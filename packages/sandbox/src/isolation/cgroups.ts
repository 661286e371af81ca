/**
 * A cgroup for each job (cgroup v2), where the daemon may divide its own (`Delegate=yes` in its unit): the one limit on
 * all that the kernel keeps for a job, files and sockets included, and the one measure of its cost.
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '#leaf/errors.ts'
import type { Cost } from '#leaf/fair-queue.ts'

/** The limits for all processes of a job together. */
export interface JobLimits {
  readonly memoryBytes?: number
  readonly processes: number
}

/** The places in which the kernel shows cgroups; tests give folders of their own. */
export interface CgroupPlaces {
  readonly root?: string
  /** The file that names this process's cgroup. */
  readonly own?: string
}

const [daemonFolder, jobPrefix] = ['daemon', 'job-']

/** The daemon's part of the cgroup tree. */
export class Cgroups {
  readonly #folder: string
  #last = 0

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Moves this process into a leaf of its own, so that jobs can be its siblings; or returns why there are no cgroups here. */
  static open({ root = '/sys/fs/cgroup', own = '/proc/self/cgroup' }: CgroupPlaces = {}): Cgroups | string {
    try {
      const [, path] = /^0::(\/.*)$/m.exec(readFileSync(own, 'utf8')) ?? []
      if (path === undefined) return 'this process is in no cgroup of version 2'
      // An earlier daemon in this unit has moved this process into the leaf already.
      const folder = join(
        root,
        path.endsWith(`/${daemonFolder}`) ? path.slice(0, -daemonFolder.length - 1) : path,
      )
      const controllers = readFileSync(join(folder, 'cgroup.controllers'), 'utf8').trim().split(' ')
      const missing = ['memory', 'pids'].filter((name) => !controllers.includes(name))
      if (missing.length > 0) return `the cgroup of this process has no ${missing.join(' and ')} controller`
      // A unit has its cgroup for itself; that of a terminal is shared, though root could divide it.
      const pids = readFileSync(join(folder, 'cgroup.procs'), 'utf8').trim().split('\n')
      if (pids.some((pid) => pid !== '' && pid !== String(process.pid)))
        return 'other programs are in the cgroup of this process'
      const leaf = join(folder, daemonFolder)
      mkdirSync(leaf, { recursive: true })
      writeFileSync(join(leaf, 'cgroup.procs'), String(process.pid))
      const cgroups = new Cgroups(folder)
      writeFileSync(join(folder, 'cgroup.subtree_control'), '+memory +pids')
      for (const name of readdirSync(folder))
        // A cgroup that cannot be removed yet keeps its name.
        if (name.startsWith(jobPrefix) && !remove(join(folder, name)))
          cgroups.#last = Math.max(cgroups.#last, Number(name.slice(jobPrefix.length)))
      return cgroups
    } catch (error) {
      return `its cgroup is not the daemon's to divide: ${messageOf(error)}`
    }
  }

  /** Makes a cgroup without processes yet. */
  job({ memoryBytes, processes }: JobLimits): Job {
    const folder = join(this.#folder, `${jobPrefix}${++this.#last}`)
    mkdirSync(folder)
    writeFileSync(join(folder, 'pids.max'), String(processes))
    if (memoryBytes !== undefined) {
      writeFileSync(join(folder, 'memory.max'), String(memoryBytes))
      // A job over its limit is killed as a whole, not one process of it.
      writeFileSync(join(folder, 'memory.oom.group'), '1')
      // The file exists only where the machine has swap.
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

  /** Adds a process, by its number on the host, and all that it starts from now on. */
  add(pid: number): void {
    writeFileSync(join(this.#folder, 'cgroup.procs'), String(pid))
  }

  /** Returns the CPU time since the last call, and the memory. */
  cost(): Cost {
    const [, micros = '0'] = /^usage_usec (\d+)$/m.exec(this.#read('cpu.stat')) ?? []
    const before = this.#seconds
    this.#seconds = Number(micros) / 1e6
    // Before Linux 5.19 the kernel does not record the peak.
    const bytes = Number(this.#read('memory.peak') || this.#read('memory.current'))
    return { cpu_seconds: Number((this.#seconds - before).toFixed(3)), memory_bytes: bytes }
  }

  /** Kills all processes that are left, and removes the cgroup. */
  async end(): Promise<void> {
    attempt(() => writeFileSync(join(this.#folder, 'cgroup.kill'), '1', { flag: 'r+' }))
    // A killed process counts until its parent has reaped it; nothing waits for this loop.
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

/** Tries an optional feature of the kernel; undefined without it. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
