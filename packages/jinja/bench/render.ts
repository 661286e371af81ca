/**
 * Renders one prompt with each engine, compiled once where the engine can, in rounds that take
 * turns, and prints the median rate of each: `node --import tsx bench/jinja/render.ts`.
 */
import process from 'node:process'
import { Template as HuggingFaceTemplate } from '@huggingface/jinja'
import { Environment as MiniJinja } from 'minijinja-js'
import nunjucks from 'nunjucks'
import { compile } from '../src/template.ts'
import { args, source } from './prompt.ts'

const ROUNDS = 9
const ROUND_MS = 250

const own = compile(source)
const environment = new nunjucks.Environment(null, { autoescape: false })
const nunjucksTemplate = new nunjucks.Template(source, environment, 'prompt', true)
const huggingFace = new HuggingFaceTemplate(source)
const miniJinja = new MiniJinja()
miniJinja.addTemplate('prompt', source)

const engines: { name: string; render: () => string }[] = [
  { name: 'ours', render: () => own.render(args) },
  { name: 'nunjucks 3.2.4, cached', render: () => nunjucksTemplate.render(args) },
  { name: 'minijinja-js 2.11.0, compiled', render: () => miniJinja.renderTemplate('prompt', args) },
  { name: '@huggingface/jinja 0.5.11', render: () => huggingFace.render(args) },
  { name: 'ours, compiled each time', render: () => compile(source).render(args) },
]

const rates = new Map(engines.map(({ name }) => [name, [] as number[]]))
for (let round = 0; round < ROUNDS; round++) {
  for (const { name, render } of engines) rates.get(name)!.push(rate(render))
}
console.log(
  `${source.split('\n').length} lines, ${own.render(args).length} characters of output; renders per second of processor time`,
)
for (const [name, all] of rates) {
  const median = all.sort((a, b) => a - b)[Math.floor(all.length / 2)]!
  console.log(`${name.padEnd(32)} ${Math.round(median).toLocaleString('en').padStart(9)}`)
}

/** Renders per second of processor time, which a busy machine disturbs less than the clock on the wall. */
function rate(render: () => string): number {
  const start = process.cpuUsage()
  let count = 0
  let used = 0
  do {
    for (let i = 0; i < 20; i++) render()
    count += 20
    const { user, system } = process.cpuUsage(start)
    used = user + system
  } while (used < ROUND_MS * 1000)
  return (count * 1_000_000) / used
}
