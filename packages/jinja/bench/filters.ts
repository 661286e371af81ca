/**
 * Filters and formatting, a line each, beside Python's Jinja2 and the engines that know them: renders per second of
 * processor time, in rounds that take turns, the first of which warms up. `node --import tsx packages/jinja/bench/filters.ts`,
 * after `npm run build`; needs python3-jinja2.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { Environment as MiniJinja } from 'minijinja-js'
import nunjucks from 'nunjucks'
import type * as Engine from '../src/template.ts'

const people = Array.from({ length: 20 }, (_, n) => ({
  name: `Person ${(n * 7) % 20}`,
  city: ['Berlin', 'Wien', 'Bern'][n % 3],
  age: 20 + ((n * 13) % 40),
  active: n % 3 > 0,
}))
const data = {
  people,
  words: 'the quick brown fox jumps over the lazy dog and the other dog sleeps'.split(' '),
  numbers: Array.from({ length: 30 }, (_, n) => ((n * 17) % 31) - 10),
  text: 'See https://example.com/a?b=1 or www.example.org, and write to ada@example.com. Then (http://x.example/y) & <b>.',
  amount: 1234567.891,
  count: 42,
}

/** What is rendered, by the words of the table. */
const lines: Readonly<Record<string, string>> = {
  urlize: '{{ text|urlize }}',
  groupby: '{% for city, all in people|groupby("city") %}{{ city }}: {{ all|length }} {% endfor %}',
  unique: '{{ words|unique|join(" ") }}',
  sort: '{{ numbers|sort|join(",") }} {{ words|sort|join(" ") }}',
  'sort by attribute': '{% for one in people|sort(attribute="age") %}{{ one.name }} {% endfor %}',
  batch: '{% for row in numbers|batch(7, 0) %}{{ row|join(" ") }};{% endfor %}',
  slice: '{% for row in numbers|slice(4) %}{{ row|join(" ") }};{% endfor %}',
  'selectattr, map': '{{ people|selectattr("active")|map(attribute="name")|join(", ") }}',
  'select, reject': '{{ numbers|select("odd")|join(",") }} {{ numbers|reject("lt", 3)|join(",") }}',
  'format with %': '{{ "%s has %d of %.2f (%05d)" % ("Ada", count, amount, count) }}',
  'the filter format': '{{ "%s has %d of %.2f"|format("Ada", count, amount) }}',
  'str.format': '{{ "{} has {:>8} of {:,.2f}".format("Ada", count, amount) }}',
  tojson: '{{ people|tojson }}',
  'title, wordcount, truncate': '{{ text|title }} {{ text|wordcount }} {{ text|truncate(40) }}',
  'replace, escape': '{{ text|replace("a", "o")|escape }}',
  'min, max, sum': '{{ numbers|min }} {{ numbers|max }} {{ numbers|sum }} {{ people|sum(attribute="age") }}',
  'round, filesizeformat': '{{ amount|round(1) }} {{ amount|filesizeformat }} {{ amount|int }}',
  'dictsort, items': '{% for key, value in people[0]|dictsort %}{{ key }}={{ value }} {% endfor %}',
  'wordwrap, indent': '{{ text|wordwrap(30)|indent(2) }}',
  'constants alone':
    '{{ "https://example.com"|urlize }} {{ [3, 1, 2]|sort|join(",") }} {{ "%05.1f"|format(3.14159) }}',
  striptags: '{{ "<p>One <b>two</b>  three</p>"|striptags }}',
}
const sources = { ...lines, 'all of them': Object.values(lines).join('\n') }

const rounds = 6
const roundMilliseconds = 80

// What runs is what was compiled: the loader of TypeScript makes closures dear.
const built = new URL('../../../dist/jinja/template.js', import.meta.url).href
const { compile } = (await import(built)) as typeof Engine

const python = `
import json, sys, time
from jinja2 import Environment
environment = Environment()
job = json.loads(sys.stdin.readline())
templates = {name: environment.from_string(source) for name, source in job['sources'].items()}
print(json.dumps({name: template.render(job['data']) for name, template in templates.items()}), flush=True)
for line in sys.stdin:
    render = templates[json.loads(line)].render
    start = time.process_time()
    count = 0
    while time.process_time() - start < ${roundMilliseconds / 1000}:
        for _ in range(10): render(job['data'])
        count += 10
    print(json.dumps(count / (time.process_time() - start)), flush=True)
`

type Rate = () => number | undefined | Promise<number | undefined>

/** Renders per second of processor time; undefined for what an engine cannot render. */
function rateOf(render: () => string): number | undefined {
  try {
    render()
  } catch {
    return undefined
  }
  const start = process.cpuUsage()
  let count = 0
  let used = 0
  do {
    for (let n = 0; n < 10; n++) render()
    count += 10
    const { user, system } = process.cpuUsage(start)
    used = user + system
  } while (used < roundMilliseconds * 1000)
  return (count * 1_000_000) / used
}

const child = spawn('python3', ['-c', python], { stdio: ['pipe', 'pipe', 'inherit'] })
const said = createInterface({ input: child.stdout })
const next = async (): Promise<unknown> => JSON.parse(((await once(said, 'line')) as [string])[0])
const first = next()
child.stdin.write(`${JSON.stringify({ sources, data })}\n`)
const expected = (await first) as Readonly<Record<string, string>>

const nunjucksEnvironment = new nunjucks.Environment(null, { autoescape: false })
const miniJinja = new MiniJinja()
console.log('|  | ours | Python’s Jinja2 | nunjucks | MiniJinja | ours / Python |')
console.log('| --- | --- | --- | --- | --- | --- |')
for (const [name, source] of Object.entries(sources)) {
  const own = compile(source)
  if (own.render(data) !== expected[name]) throw new Error(`${name}: ${own.render(data)}\n${expected[name]}`)
  const engines: Rate[] = [
    () => rateOf(() => own.render(data)),
    async () => {
      const answer = next()
      child.stdin.write(`${JSON.stringify(name)}\n`)
      return (await answer) as number
    },
    (() => {
      try {
        const template = new nunjucks.Template(source, nunjucksEnvironment, name, true)
        return () => rateOf(() => template.render(data))
      } catch {
        return () => undefined
      }
    })(),
    (() => {
      try {
        miniJinja.addTemplate(name, source)
        return () => rateOf(() => miniJinja.renderTemplate(name, data))
      } catch {
        return () => undefined
      }
    })(),
  ]
  const rates = engines.map((): number[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, engine] of engines.entries()) {
      const rate = await engine()
      if (rate !== undefined && round > 0) rates[index]!.push(rate)
    }
  const medians = rates.map((all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)])
  const shown = medians.map((one) => (one === undefined ? '–' : Math.round(one).toLocaleString('en')))
  console.log(`| ${[name, ...shown, (medians[0]! / medians[1]!).toFixed(2)].join(' | ')} |`)
}
child.kill()
