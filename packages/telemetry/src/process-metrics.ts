/** Metrics of any Node process, under the names that dashboards know. */
import { readdirSync, readFileSync } from 'node:fs'
import {
  constants,
  monitorEventLoopDelay,
  PerformanceObserver,
  type IntervalHistogram,
} from 'node:perf_hooks'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
import { metricText, type Sample, Timings } from './metric-text.ts'

/** The interval at which the thread is looked at, which wakes it each time. */
const lookMilliseconds = 20
const minutesTold = 5

const collections = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])

/** Measures what the process uses and how late its thread is. */
export class ProcessMetrics {
  readonly #collections = new Timings([0.001, 0.01, 0.1, 1, 2, 5], 'kind')
  /** Delays since the last reading. It begins with the first: where nobody reads metrics, nothing wakes an idle daemon. */
  #delays: IntervalHistogram | undefined
  /** The share of its time that the thread was at work, by minute, the last at the end. */
  readonly #minutes: number[] = []
  #minute = performance.eventLoopUtilization()

  constructor() {
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { duration, detail } = entry as typeof entry & { detail: { kind: number } }
        this.#collections.took(duration / 1000, collections.get(detail.kind))
      }
    }).observe({ entryTypes: ['gc'] })
  }

  /** Ends a minute. */
  minute(): void {
    const now = performance.eventLoopUtilization()
    this.#minutes.push(performance.eventLoopUtilization(now, this.#minute).utilization)
    this.#minute = now
    if (this.#minutes.length > minutesTold) this.#minutes.shift()
  }

  /** The share of its time that the thread was at work in the idlest of the last five minutes; 0 before there were so many. */
  get busy(): number {
    return this.#minutes.length < minutesTold ? 0 : Math.min(...this.#minutes)
  }

  /** Returns everything in Prometheus' text format, metric by metric. */
  async texts(): Promise<string[]> {
    const help = 'Garbage collection duration by kind, one of major, minor, incremental or weakcb.'
    const { version } = process
    const [major = '', minor = '', patch = ''] = process.versions.node.split('.')
    return [
      ...usage(),
      ...(await this.#lag()),
      ...active(),
      ...heap(),
      gauge('nodejs_version_info', 'Node.js version info.', [[1, { version, major, minor, patch }]]),
      metricText('histogram', 'nodejs_gc_duration_seconds', help, this.#collections),
    ]
  }

  async #lag(): Promise<string[]> {
    const began = performance.now()
    await setImmediate()
    const now = (performance.now() - began) / 1000
    if (!this.#delays) {
      this.#delays = monitorEventLoopDelay({ resolution: lookMilliseconds })
      this.#delays.enable()
    }
    const delays = this.#delays
    const delay = (name: string, help: string, nanoseconds: number): string =>
      gauge(`nodejs_eventloop_lag_${name}_seconds`, help, delays.count && nanoseconds / 1e9)
    const texts = [
      gauge('nodejs_eventloop_lag_seconds', 'Lag of event loop in seconds.', now),
      delay('min', 'The minimum recorded event loop delay.', delays.min),
      delay('max', 'The maximum recorded event loop delay.', delays.max),
      delay('mean', 'The mean of the recorded event loop delays.', delays.mean),
      delay('stddev', 'The standard deviation of the recorded event loop delays.', delays.stddev),
      ...[50, 90, 99].map((percent) => {
        const help = `The ${percent}th percentile of the recorded event loop delays.`
        return delay(`p${percent}`, help, delays.percentile(percent))
      }),
    ]
    delays.reset()
    return texts
  }
}

function gauge(name: string, help: string, values: number | Iterable<Sample>): string {
  return metricText('gauge', name, help, values)
}

function usage(): string[] {
  const { user, system } = process.cpuUsage()
  const counter = (name: string, help: string, microseconds: number): string =>
    metricText('counter', `process_cpu_${name}seconds_total`, help, microseconds / 1e6)
  const began = Math.round(performance.timeOrigin / 1000)
  return [
    counter('user_', 'Total user CPU time spent in seconds.', user),
    counter('system_', 'Total system CPU time spent in seconds.', system),
    counter('', 'Total user and system CPU time spent in seconds.', user + system),
    gauge('process_start_time_seconds', 'Start time of the process since unix epoch in seconds.', began),
    ...kernels(),
  ]
}

/** Returns the kernel's numbers, as far as it gives them. */
function kernels(): string[] {
  const read = <Told>(tell: () => Told, otherwise: Told): Told => {
    try {
      return tell()
    } catch {
      return otherwise
    }
  }
  const status = read(() => readFileSync('/proc/self/status', 'utf8'), '')
  const limits = read(() => readFileSync('/proc/self/limits', 'utf8'), '')
  const bytes = (name: string): number =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  const resident = status === '' ? process.memoryUsage.rss() : bytes('VmRSS')
  // Does not count the file by which they are read.
  const open = read(() => readdirSync('/proc/self/fd').length - 1, Number.NaN)
  const most = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1])
  const told: [name: string, help: string, value: number][] = [
    ['process_resident_memory_bytes', 'Resident memory size in bytes.', resident],
    ['process_virtual_memory_bytes', 'Virtual memory size in bytes.', bytes('VmSize')],
    ['process_heap_bytes', 'Process heap size in bytes.', bytes('VmData')],
    ['process_open_fds', 'Number of open file descriptors.', open],
    ['process_max_fds', 'Maximum number of open file descriptors.', most],
  ]
  return told.filter(([, , value]) => !Number.isNaN(value)).map((one) => gauge(...one))
}

/** Returns lists of what Node waits for; Node documents no way to list handles and requests. */
function active(): string[] {
  const lists = process as { _getActiveHandles?(): object[]; _getActiveRequests?(): object[] }
  const named = (list: object[] = []): string[] => list.map((one) => one.constructor.name)
  const told: [name: string, each: string, kinds: string[]][] = [
    [
      'resources',
      'active resources that are currently keeping the event loop alive, grouped by async resource type.',
      process.getActiveResourcesInfo(),
    ],
    [
      'handles',
      'active libuv handles grouped by handle type. Every handle type is C++ class name.',
      named(lists._getActiveHandles?.()),
    ],
    [
      'requests',
      'active libuv requests grouped by request type. Every request type is C++ class name.',
      named(lists._getActiveRequests?.()),
    ],
  ]
  return told.flatMap(([name, each, kinds]) => {
    const counts = new Map<string, number>()
    for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1)
    const samples = [...counts].map(([type, count]): Sample => [count, { type }])
    const all = gauge(`nodejs_active_${name}_total`, `Total number of active ${name}.`, kinds.length)
    return [gauge(`nodejs_active_${name}`, `Number of ${each}`, samples), all]
  })
}

function heap(): string[] {
  const { heapTotal, heapUsed, external } = process.memoryUsage()
  const spaces = getHeapSpaceStatistics()
  return [
    gauge('nodejs_heap_size_total_bytes', 'Process heap size from Node.js in bytes.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Process heap size used from Node.js in bytes.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Node.js external memory size in bytes.', external),
    ...(['size', 'used_size', 'available_size'] as const).map((size) => {
      const what = size === 'size' ? 'total' : size.replace('_size', '')
      const samples = spaces.map((one): Sample => [
        one[`space_${size}`],
        { space: one.space_name.replace('_space', '') },
      ])
      const help = `Process heap space size ${what} from Node.js in bytes.`
      return gauge(`nodejs_heap_space_size_${what}_bytes`, help, samples)
    }),
  ]
}
