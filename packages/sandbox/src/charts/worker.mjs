// @ts-check
/**
 * The process that draws one chart. The specification may come from anyone who may edit a chart:
 * its expressions are interpreted, never compiled, and it can load nothing.
 */
import process from 'node:process'
import { parse, View } from 'vega'
import { expressionInterpreter } from 'vega-interpreter'
import { compile } from 'vega-lite'
import { DaemonChannel } from '../isolation/frames.mjs'

const maxSide = 2000
const refuse = () => Promise.reject(new Error('a chart cannot load anything'))
// A rejection that Vega leaves unhandled must not end the process.
process.on('unhandledRejection', () => {})
const channel = new DaemonChannel()
const resvg = await import('@resvg/resvg-js').catch(() => undefined)
channel.say({ ready: true })
for await (const job of channel.heard()) {
  try {
    const [format, picture] = await draw(job)
    channel.say({ format }, picture)
  } catch (error) {
    channel.say({ fault: (error instanceof Error ? error.message : String(error)).slice(0, 1000) })
  }
  break
}
channel.end()

/**
 * @param {{ spec: Record<string, unknown>, rows: unknown[], format: 'svg' | 'png' }} job
 * @returns {Promise<['svg' | 'png', Uint8Array]>}
 */
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
  // Labels left out for others are there and unseen, and cost as much as the others.
  const svg = (await view.toSVG()).replaceAll(/<text [^>]*opacity="0"[^>]*>[^<]*<\/text>/g, '')
  if (format === 'svg') return ['svg', Buffer.from(svg)]
  if (!resvg) throw new Error('PNG needs the optional package @resvg/resvg-js')
  const [, width = '0', height = '0'] = /<svg[^>]* width="([\d.]+)" height="([\d.]+)"/.exec(svg) ?? []
  if (Number(width) > maxSide || Number(height) > maxSide)
    throw new Error(`the picture is larger than ${maxSide} by ${maxSide}`)
  const picture = new resvg.Resvg(svg, {
    background: 'white',
    font: { loadSystemFonts: true, defaultFontFamily: 'DejaVu Sans' },
    fitTo: { mode: 'zoom', value: 1.5 },
  })
  return ['png', picture.render().asPng()]
}
