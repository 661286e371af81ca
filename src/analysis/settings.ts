/** What analysis may use of the machine. */
export interface AnalysisSettings {
  readonly sql: {
    readonly timeout_seconds: number
    readonly memory_mb: number
    readonly threads: number
    readonly max_concurrent: number
    /** Processes that keep the snapshot of a user between statements. */
    readonly max_idle: number
    readonly max_rows: number
    readonly max_result_bytes: number
  }
  readonly python: {
    readonly enabled: boolean
    readonly interpreter: string
    /** More folders that programs may read, such as a virtual environment outside `/usr`. */
    readonly paths: readonly string[]
    readonly timeout_seconds: number
    readonly max_timeout_seconds: number
    /** Memory beyond what the interpreter and its libraries take. */
    readonly memory_mb: number
    readonly scratch_mb: number
    readonly max_output_bytes: number
    readonly max_concurrent: number
    readonly max_tool_calls: number
  }
  readonly files: {
    readonly timeout_seconds: number
    readonly memory_mb: number
    readonly max_bytes: number
    /** Bytes that an archive may unpack to. */
    readonly max_unpacked_bytes: number
    /** Program and arguments that read an image on standard input and write text on standard output; it may start no other program. */
    readonly ocr_command: readonly string[]
  }
  readonly charts: {
    readonly timeout_seconds: number
    readonly memory_mb: number
    readonly max_points: number
  }
}

/** What holds without a site, for tests and for parts that are opened alone. */
export const defaultAnalysisSettings: AnalysisSettings = {
  sql: {
    timeout_seconds: 10,
    memory_mb: 256,
    threads: 2,
    max_concurrent: 4,
    max_idle: 3,
    max_rows: 10_000,
    max_result_bytes: 8_000_000,
  },
  python: {
    enabled: true,
    interpreter: '/usr/bin/python3',
    paths: [],
    timeout_seconds: 30,
    max_timeout_seconds: 300,
    memory_mb: 512,
    scratch_mb: 64,
    max_output_bytes: 1_000_000,
    max_concurrent: 4,
    max_tool_calls: 200,
  },
  files: {
    timeout_seconds: 30,
    memory_mb: 512,
    max_bytes: 50_000_000,
    max_unpacked_bytes: 200_000_000,
    ocr_command: [],
  },
  charts: { timeout_seconds: 20, memory_mb: 512, max_points: 5000 },
}
