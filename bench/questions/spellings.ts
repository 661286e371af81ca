/** Names, lists, numbers, dates and yes as people and models write them. */

/** The same meaning in another spelling. */
export interface Mutant {
  readonly label: string
  readonly value: any
}

/** Other spellings of one value. */
export function spellingsOf(value: any): Mutant[] {
  if (Array.isArray(value)) return ofList(value)
  if (typeof value === 'number') return ofNumber(value)
  if (typeof value === 'boolean') return ofBoolean(value)
  if (typeof value !== 'string') return []
  if (/^\d{4}-\d{2}-\d{2}$/.test(value)) return ofDate(value)
  return ofName(value)
}

function ofList(list: readonly any[]): Mutant[] {
  const [from, to] = list
  const found: Mutant[] = [
    { label: 'with commas', value: list.join(',') },
    { label: 'with commas and blanks', value: list.join(', ') },
    { label: 'with semicolons', value: list.join(';') },
    { label: 'with or', value: list.join(' or ') },
    { label: 'JSON list in a text', value: JSON.stringify(list) },
    { label: 'in brackets', value: `(${list.join(', ')})` },
    { label: 'list in a list', value: [list] },
    { label: 'object of numbers', value: Object.fromEntries(list.entries()) },
    { label: 'of objects', value: list.map((one) => ({ value: one })) },
  ]
  if (list.length !== 2) return found
  return [
    ...found,
    { label: 'and', value: `${from} and ${to}` },
    { label: 'to', value: `${from} to ${to}` },
    { label: 'dots', value: `${from}..${to}` },
    { label: 'from, to', value: { from, to } },
    { label: 'start, end', value: { start: from, end: to } },
    { label: 'min, max', value: { min: from, max: to } },
    { label: 'reversed', value: [to, from] },
  ]
}

function ofNumber(number: number): Mutant[] {
  const grouped = number.toLocaleString('en-US')
  const texts = [
    String(number),
    ` ${number} `,
    number.toFixed(2),
    `${number} EUR`,
    `€${number}`,
    `$${grouped}`,
    `${number}%`,
    `+${number}`,
    `> ${number}`,
    `about ${number}`,
  ]
  if (grouped.includes(','))
    texts.push(
      grouped,
      grouped.replaceAll(',', ' '),
      grouped.replaceAll(',', '_'),
      `${number / 1000}k`,
      number.toExponential(),
    )
  return [
    ...texts.map((value) => ({ label: `number as ${value}`, value })),
    { label: 'number in a list', value: [number] },
    { label: 'number in an object', value: { value: number } },
  ]
}

function ofBoolean(yes: boolean): Mutant[] {
  const texts = yes
    ? ['true', 'True', 'TRUE', 'yes', 'Yes', 'on', '1', 1, 'y', 'checked']
    : ['false', 'False', 'no', 'No', 'off', '0', 0, 'n', null]
  return texts.map((value) => ({ label: `${yes} as ${JSON.stringify(value)}`, value }))
}

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
function ofDate(date: string): Mutant[] {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number]
  const name = months[month - 1]!
  const two = (number: number): string => String(number).padStart(2, '0')
  const texts = [
    `${day}.${month}.${year}`,
    `${two(day)}.${two(month)}.${year}`,
    `${month}/${day}/${year}`,
    `${two(month)}/${two(day)}/${year}`,
    `${two(day)}/${two(month)}/${year}`,
    `${year}/${two(month)}/${two(day)}`,
    `${year}-${month}-${day}`,
    `${year}${two(month)}${two(day)}`,
    `${day} ${name} ${year}`,
    `${name} ${day}, ${year}`,
    `${name} ${day}`,
    `${day}-${name.slice(0, 3)}-${year}`,
    `${date}T00:00:00`,
    `${date}T00:00:00Z`,
    `${date} 00:00:00`,
    `${date}T00:00:00.000+00:00`,
    ` ${date} `,
    `'${date}'`,
    `date('${date}')`,
    `on ${date}`,
  ]
  return [
    ...texts.map((value) => ({ label: `date as ${value}`, value })),
    { label: 'date as seconds', value: Date.parse(date) / 1000 },
    { label: 'date as milliseconds', value: Date.parse(date) },
    { label: 'date as numbers', value: [year, month, day] },
  ]
}

/** A name or an option as people type it. */
export function ofName(name: string): Mutant[] {
  const folded = name.normalize('NFKD').replaceAll(/\p{M}/gu, '')
  const german = name.replaceAll('ü', 'ue').replaceAll('ö', 'oe').replaceAll('ä', 'ae').replaceAll('ß', 'ss')
  const texts = [
    name.toLowerCase(),
    name.toUpperCase(),
    ` ${name}`,
    `${name} `,
    name.replaceAll(' ', '_'),
    name.replaceAll(' ', '-'),
    name.replaceAll(' ', ''),
    name.replaceAll(' ', '  '),
    name.toLowerCase().replaceAll(' ', '_'),
    `"${name}"`,
    `'${name}'`,
    `%${name}%`,
    `*${name}*`,
    `${name}s`,
    name.slice(0, -1),
    name[0] + name.slice(2),
    folded,
    german,
    name.normalize('NFD'),
    `${name}.`,
    `the ${name}`,
  ]
  const found = [...new Set(texts)]
    .filter((text) => text !== name && text.trim() !== '')
    .map((value) => ({ label: `name as ${value}`, value: value as any }))
  return [
    ...found,
    { label: 'name in a list', value: [name] },
    { label: 'name in an object', value: { name } },
  ]
}
