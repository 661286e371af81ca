/** Arguments as a whole, their names, and values inside them, in other spellings of the same meaning. */
import { type Mutant, ofName, spellingsOf } from './spellings.ts'

const otherNames: Readonly<Record<string, string>> = {
  doctype: 'doc_type|docType|document_type|type|DocType|table|entity',
  name: 'id|document_name|docname|document|document_id',
  filters: 'filter|where|conditions|condition|criteria|query_filters|Filters|q',
  fields: 'columns|select|field|properties|Fields',
  limit: 'top|max|max_results|page_size|limit_page_length|Limit|count|n|first|size|per_page',
  offset: 'skip|start|from|limit_start|page',
  order_by: 'orderBy|sort|sort_by|orderby|order|sortBy|order-by',
  group_by: 'groupBy|groupby|group|by|dimensions|group-by',
  metrics: 'aggregations|aggregates|measures|metric|functions',
  query: 'q|search|text|sql|statement|keywords|search_term|question',
  parameters: 'params|args|values|bindings',
  report_name: 'report|name|reportName|title',
  data: 'values|fields|doc|document|changes|record|body',
  names: 'ids|documents|name|docnames',
  dry_run: 'dryRun|dry-run|dryrun|preview|simulate|test',
  validate_only: 'validateOnly|validate|check_only',
  user: 'assignee|email|username|to|assign_to',
  action: 'transition|workflow_action|state',
  comment: 'content|text|message|note',
  based_on: 'basedOn|group_by|x|category|dimension',
  value_based_on: 'valueBasedOn|y|value|measure|field',
}
/** Arguments that a person reads: their spelling is what is meant. */
const free = new Set([
  'comment',
  'text',
  'chart_name',
  'dashboard_name',
  'query',
  'code',
  'city',
  'customer_name',
  'file_name',
  'as',
])

/** Other spellings of arguments as a whole, of their names and of their values, also inside. */
export function argumentsOf(tool: string, args: Readonly<Record<string, any>>): Mutant[] {
  const found: Mutant[] = [
    { label: 'arguments inside arguments', value: { arguments: args } },
    { label: 'inside input', value: { input: args } },
    { label: 'inside params', value: { params: args } },
    { label: 'arguments as a text', value: JSON.stringify(args) },
    { label: 'arguments in a list', value: [args] },
  ]
  for (const [key, value] of Object.entries(args)) {
    const { [key]: _, ...others } = args
    for (const name of (otherNames[key] ?? '').split('|'))
      if (name !== '' && !(name in args))
        found.push({ label: `${key} as ${name}`, value: { ...others, [name]: value } })
    found.push({ label: `${key} in capitals`, value: { ...others, [key.toUpperCase()]: value } })
    if (key === 'filters' && tool !== 'generate_report') {
      found.push({ label: 'filters as a text', value: { ...args, filters: JSON.stringify(value) } })
      continue
    }
    for (const other of valuesOf(key, value))
      found.push({ label: `${key}: ${other.label}`, value: { ...args, [key]: other.value } })
  }
  return found
}

function valuesOf(key: string, value: any): Mutant[] {
  if (key === 'order_by') return ordersOf(value)
  if (key === 'metrics') return metricsOf(value)
  if (key === 'query' && value.startsWith('SELECT')) return statementsOf(value)
  if (key === 'query') return ofName(value).filter(({ value: one }) => typeof one === 'string')
  if (typeof value === 'object' && value !== null) {
    const texts: Mutant[] = [
      { label: 'JSON in a text', value: JSON.stringify(value) },
      { label: 'JSON in a text twice', value: JSON.stringify(JSON.stringify(value)) },
    ]
    if (!Array.isArray(value))
      return [
        ...texts,
        { label: 'in a list', value: [value] },
        { label: 'as pairs', value: Object.entries(value) },
        ...Object.entries(value).flatMap(([inner, one]) => {
          const { [inner]: _, ...others } = value
          const camel = inner.replaceAll(/_(\w)/g, (__, letter: string) => letter.toUpperCase())
          const label = inner.replaceAll('_', ' ').replace(/\b\w/g, (letter) => letter.toUpperCase())
          const renamed = [inner.toUpperCase(), camel, label, `${inner}s`, inner.slice(0, -1)].filter(
            (name) => name !== inner,
          )
          return [
            ...renamed.map((name) => ({ label: `${inner} as ${name}`, value: { ...others, [name]: one } })),
            ...(free.has(inner)
              ? []
              : valuesOf(inner, one).map((other) => ({
                  label: `${inner}: ${other.label}`,
                  value: { ...value, [inner]: other.value },
                }))),
          ]
        }),
      ]
    const list: readonly any[] = value
    const each = list.flatMap((one, index) =>
      valuesOf('', one).map((other) => ({
        label: `${index}: ${other.label}`,
        value: list.with(index, other.value),
      })),
    )
    const plainTexts = list.every((one) => typeof one === 'string')
    return [
      ...texts,
      ...each,
      ...(list.length === 1 ? [{ label: 'without a list', value: list[0] }] : []),
      ...(plainTexts
        ? [
            { label: 'with commas', value: list.join(', ') },
            { label: 'list in a list', value: [list] },
            { label: 'as objects', value: list.map((name) => ({ name })) },
          ]
        : []),
    ]
  }
  if (free.has(key)) return []
  return spellingsOf(value)
}

function ordersOf(order: string): Mutant[] {
  const [field, direction] = order.split(',')[0]!.split(' ') as [string, string]
  const down = direction === 'desc'
  const sign = down ? '-' : '+'
  const values: any[] = [
    `${field} ${direction.toUpperCase()}`,
    `${field}:${direction}`,
    `${field}.${direction}`,
    `${field},${direction}`,
    `${sign}${field}`,
    `${direction} ${field}`,
    `${direction}(${field})`,
    `${field} ${down ? 'descending' : 'ascending'}`,
    [order],
    [field, direction],
    [[field, direction]],
    { [field]: direction },
    { [field]: down ? -1 : 1 },
    [{ field, direction }],
    { field, order: direction },
    `ORDER BY ${order}`,
    field.toUpperCase() + ` ${direction}`,
    `\`${field}\` ${direction}`,
    `${field} ${direction};`,
  ]
  // The first of several is not the whole order.
  return order.includes(',')
    ? [
        { label: 'order as a list', value: order.split(', ') },
        { label: 'order in capitals', value: order.toUpperCase() },
      ]
    : values.map((value) => ({ label: `order as ${JSON.stringify(value)}`, value }))
}

function metricsOf(metrics: readonly { function: string; field?: string; as?: string }[]): Mutant[] {
  const [one] = metrics
  const values: any[] = [
    JSON.stringify(metrics),
    metrics.map((each) => ({ ...each, function: each.function.toUpperCase() })),
    metrics.map(({ function: name, ...others }) => ({ ...others, func: name })),
    metrics.map(({ function: name, ...others }) => ({ ...others, type: name })),
    metrics.map(({ function: name, ...others }) => ({ ...others, aggregate: name })),
    metrics.map(({ field, ...others }) => ({ ...others, column: field })),
    metrics.map(({ function: name, field }) => (field ? `${name}(${field})` : name)),
    metrics.map(({ function: name, field }) => (field ? `${name} ${field}` : name)),
    metrics.map(({ function: name, field }) => [name, field]),
    metrics.map(({ function: name, field }) => ({ [name]: field ?? '*' })),
    Object.fromEntries(metrics.map(({ function: name, field }) => [field ?? '*', name])),
  ]
  if (metrics.length === 1)
    values.push(
      one,
      `${one!.function}(${one!.field})`,
      [{ ...one, function: 'total' }],
      [{ ...one, function: 'Summe' }],
      [{ ...one, field: one!.field!.toUpperCase() }],
      [{ ...one, field: 'Grand Total' }],
      [{ ...one, field: 'grandTotal' }],
      [{ ...one, field: 'total_amount' }],
    )
  return values.map((value) => ({ label: `metrics as ${JSON.stringify(value)}`, value }))
}

function statementsOf(statement: string): Mutant[] {
  const texts = [
    `${statement};`,
    `${statement};;`,
    statement.toLowerCase(),
    `\`\`\`sql\n${statement}\n\`\`\``,
    `-- all of them\n${statement}`,
    statement.replace('sales_order', '"Sales Order"'),
    statement.replace('sales_order', '`tabSales Order`'),
    statement.replace('sales_order', 'tabSales Order'),
    statement.replace('sales_order', 'SalesOrder'),
    statement.replace('sales_order', 'sales_orders'),
    statement.replace('sales_order', 'SALES_ORDER'),
    statement.replace('sales_order', 'public.sales_order'),
    statement.replace('sales_order', '[Sales Order]'),
    statement.replace('count(*)', 'COUNT(DISTINCT name)'),
    statement.replaceAll('$since', ':since'),
    statement.replaceAll('$since', '@since'),
    statement.replaceAll('$since', '{{since}}'),
    statement.replaceAll('$since', '%(since)s'),
    statement.replaceAll('?', '%s'),
    statement.replaceAll('order_date', 'orderdate'),
    `SQL: ${statement}`,
    `EXPLAIN ${statement}`,
  ]
  return [...new Set(texts)]
    .filter((text) => text !== statement)
    .map((value) => ({ label: `statement as ${value.slice(0, 60)}`, value }))
}
