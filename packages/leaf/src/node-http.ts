/**
 * Node's HTTP. An `import` of it also loads Node's `fetch`, of which only a `require` asks nothing: ten megabytes and a
 * fiftieth of a second in each process.
 */
import type * as NodeHttp from 'node:http'
import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

export const http = load('node:http') as typeof NodeHttp
