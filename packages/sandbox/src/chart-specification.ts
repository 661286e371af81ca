/** Bounds stored Vega-Lite specifications: they style marks, but name no source of data and no computation. */

// No data, datasets, params, expr, signal, calculate, href, url, image, loader, usermeta: a picture needs none of them.
const words = `
$schema title subtitle text description name width height step autosize padding background bounds align center spacing columns
contains resize
config view mark encoding transform layer hconcat vconcat concat facet repeat row column spec resolve scale axis legend
type field timeUnit aggregate bin sort stack format formatType value datum condition order op as groupby
x y x2 y2 xOffset yOffset xError yError theta theta2 radius radius2 color fill stroke opacity fillOpacity strokeOpacity strokeWidth
strokeDash size shape angle detail key tooltip latitude longitude
fold joinaggregate window frame filter equal lt lte gt gte range oneOf valid not and or ignorePeers
domain domainMax domainMin domainMid scheme count extent nice zero clamp round reverse base exponent constant bins interpolate
paddingInner paddingOuter maxbins minstep
point line filled interpolate tension innerRadius outerRadius padAngle cornerRadius cornerRadiusEnd cornerRadiusTopLeft
cornerRadiusTopRight cornerRadiusBottomLeft cornerRadiusBottomRight orient band thickness binSpacing ticks dx dy baseline
font fontSize fontStyle fontWeight lineHeight limit lineBreak invalid blend strokeCap strokeJoin
labels labelAngle labelAlign labelBaseline labelColor labelFont labelFontSize labelFontWeight labelLimit labelOverlap labelPadding
labelOffset labelFlush labelBound tickCount tickMinStep tickSize tickColor values grid gridColor gridDash gridOpacity gridWidth
domainColor titleColor titleFont titleFontSize titleFontWeight titlePadding titleAnchor titleAlign titleAngle titleLimit offset
position anchor symbolType symbolSize symbolFillColor symbolStrokeColor gradientLength gradientThickness clipHeight direction
rowPadding columnPadding style bar arc area rect rule square circle tick trail geoshape axisX axisY header independent shared
empty unit utc week
`
const allowed = new Set(words.split(/\s+/))
const marks = new Set('arc area bar circle line point rect rule square text tick trail'.split(' '))
const most = { depth: 12, values: 5000 }

/** Returns the place and the name of the first forbidden part of a specification; undefined without one. */
export function specificationFault(spec: unknown): string | undefined {
  let values = 0
  return look(spec, '')

  function look(value: unknown, path: string, depth = 0): string | undefined {
    values += 1
    if (depth > most.depth || values > most.values) return 'the specification is too large'
    if (typeof value !== 'object' || value === null) return undefined
    for (const [key, item] of Object.entries(value)) {
      const at = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
      // A specification only names its data; the rows come from the viewer.
      if (path === '' && key === 'data' && JSON.stringify(item) === '{"name":"rows"}') continue
      const fault =
        Array.isArray(value) || allowed.has(key) ? refused(key, item) : 'is not allowed in a chart'
      if (fault !== undefined) return `${at} ${fault}`
      const inner = look(item, at, depth + 1)
      if (inner !== undefined) return inner
    }
    return undefined
  }
}

/** Refuses forbidden values of an allowed word. */
function refused(key: string, value: unknown): string | undefined {
  const kind =
    key === 'mark' && typeof value === 'object' && value !== null ? Reflect.get(value, 'type') : value
  if (key === 'mark' && !marks.has(String(kind))) return `is none of ${[...marks].join(', ')}`
  if (key === 'filter' && typeof value === 'string')
    return 'is an expression; use equal, lt, gt, range or oneOf'
  return undefined
}
