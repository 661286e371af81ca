/** Prometheus' library part by part: its own entry loads all of it, which is a twentieth of what a start costs. */
import { createRequire } from 'node:module'
import type * as prometheus from 'prom-client'

const require = createRequire(import.meta.url)

export type Counter = prometheus.Counter
export const Counter = require('prom-client/lib/counter.js') as typeof prometheus.Counter
export type Gauge = prometheus.Gauge
export const Gauge = require('prom-client/lib/gauge.js') as typeof prometheus.Gauge
export type Histogram = prometheus.Histogram
export const Histogram = require('prom-client/lib/histogram.js') as typeof prometheus.Histogram
export type Registry = prometheus.Registry
export const Registry = require('prom-client/lib/registry.js') as typeof prometheus.Registry

/** Adds what can be told of any process of Node. */
export function addProcessMetrics(register: Registry): void {
  const collect = require('prom-client/lib/defaultMetrics.js') as typeof prometheus.collectDefaultMetrics
  collect({ register })
}
