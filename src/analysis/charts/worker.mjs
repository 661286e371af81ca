// @ts-check
/**
 * The process that draws one chart. The specification may come from anyone who may edit a chart:
 * its expressions are interpreted, never compiled, and it can load nothing.
 */
import { Socket } from 'node:net'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { parse, View } from 'vega'
import { expressionInterpreter } from 'vega-interpreter'
import { compile } from 'vega-lite'

const maxSide = 2000
const refuse = () => Promise.reject(new Error('a chart cannot load anything'))
const channel = new Socket({ fd: 3, readable: true, writable: true })
const resvg = await import('@resvg/resvg-js').catch(() => undefined)
answer({ ready: true })
for await (const line of createInterface({ input: channel })) {
  try {
    answer(await draw(JSON.parse(line)))
  } catch (error) {
    answer({ fault: (error instanceof Error ? error.message : String(error)).slice(0, 1000) })
  }
  break
}
channel.end(() => process.exit(0))

/** @param {{ spec: Record<string, unknown>, rows: unknown[], format: 'svg' | 'png' }} job */
async function draw({ spec, rows, format }) {
  const logger = {
    level: () => logger,
    error: () => logger,
    warn: () => logger,
    info: () => logger,
    debug: () => logger,
  }
  for (const side of ['width', 'height'])
    if (typeof spec[side] === 'number' && spec[side] > maxSide)
      throw new Error(`${side} is more than ${maxSide}`)
  const complete = { ...spec, data: { name: 'rows' }, datasets: { rows } }
  // @ts-expect-error The specification is checked by the compiler itself.
  const compiled = compile(complete, { logger })
  const view = new View(parse(compiled.spec, undefined, { ast: true }), {
    renderer: 'none',
    expr: expressionInterpreter,
    loader: { load: refuse, sanitize: refuse, http: refuse, file: refuse },
    logLevel: 0,
  })
  const svg = await view.toSVG()
  if (format === 'svg') return { svg }
  if (!resvg) throw new Error('PNG needs the optional package @resvg/resvg-js')
  const [, width = '0', height = '0'] = /<svg[^>]* width="([\d.]+)" height="([\d.]+)"/.exec(svg) ?? []
  if (Number(width) > maxSide || Number(height) > maxSide)
    throw new Error(`the picture is larger than ${maxSide} by ${maxSide}`)
  const picture = new resvg.Resvg(svg, {
    background: 'white',
    font: { loadSystemFonts: true, defaultFontFamily: 'DejaVu Sans' },
    fitTo: { mode: 'zoom', value: 1.5 },
  })
  return { png: Buffer.from(picture.render().asPng()).toString('base64') }
}

/** @param {unknown} message */
function answer(message) {
  channel.write(`${JSON.stringify(message)}\n`)
}
