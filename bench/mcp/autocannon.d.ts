/** The little of autocannon that the benchmarks use; it ships no types. */
declare module 'autocannon' {
  interface Options {
    readonly url: string
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
    readonly connections?: number
    readonly duration?: number
    readonly amount?: number
    /** Is given each connection before it asks. */
    readonly setupClient?: (client: Connection) => void
  }
  interface Connection {
    setHeaders(headers: Readonly<Record<string, string>>): void
    on(event: 'body', told: (body: Buffer) => void): void
  }
  interface Result {
    readonly requests: { readonly average: number; readonly total: number }
    readonly latency: { readonly p99: number }
    readonly non2xx: number
    readonly errors: number
  }
  export default function autocannon(options: Options): Promise<Result>
}
