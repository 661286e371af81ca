/** Operators and forms of filters as models write them; each keeps the meaning for a person who reads it. */
import { type Mutant, spellingsOf } from './spellings.ts'

/** A condition as the reference writes it. */
export type Condition = readonly [field: string, operator: string, value: any]

const words: Readonly<Record<string, string>> = {
  '=': '==|===|eq|EQ|equals|Equals|equal to|is equal to|is|$eq|_eq|is exactly',
  '!=': '<>|!==|ne|neq|$ne|not|NOT|is not|isn’t|not equals|not equal to|does not equal|other than|except|not_eq|≠|!|differs from|exclude',
  '>': 'gt|$gt|GT|_gt|greater than|greater_than|more than|above|over|after|later than|exceeds|bigger than|is greater than',
  '>=': 'gte|ge|$gte|GTE|at least|from|since|=>|≥|min|not less than|on or after|greater than or equal to|greater_than_or_equal',
  '<': 'lt|$lt|LT|less than|less_than|below|under|before|smaller than|earlier than|fewer than',
  '<=': 'lte|le|$lte|LTE|at most|until|up to|=<|≤|max|not more than|on or before|less than or equal to',
  contains:
    'CONTAINS|Contains|contain|includes|include|has|icontains|ilike|like|match|matches|regex|regexp|~|~*|=~|search|substring|in text|$regex|%like%|fulltext',
  'not contains':
    'does not contain|doesn’t contain|not_contains|notContains|not like|excludes|without|not includes|!~|NOT CONTAINS',
  'starts with':
    'startswith|starts_with|startsWith|StartsWith|begins with|beginswith|begin with|prefix|^|STARTS WITH|starts',
  in: 'IN|$in|one of|is one of|any of|any|among|is in|oneOf|=|equals|contains|has|includes',
  'not in': 'NOT IN|$nin|nin|not_in|notin|notIn|none of|not one of|excludes|!in|!=|not|is not|except',
  between: 'BETWEEN|Between|range|within|in range|$between|is between|inside|from to',
}

/** Spellings of an operator. */
export function operatorsFor(operator: string): readonly string[] {
  return (words[operator] ?? '').split('|').filter((word) => word !== '')
}

/** Spellings of one condition as the value of `filters`. */
export function formsOf(doctype: string, [field, operator, value]: Condition): Mutant[] {
  const asText = typeof value === 'string' ? value : JSON.stringify(value)
  const short = operatorsFor(operator).find((word) => /^[a-z_]+$/.test(word)) ?? operator
  const label = field.replaceAll('_', ' ').replace(/\b\w/g, (letter) => letter.toUpperCase())
  const camel = field.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  const typo = field.length > 4 ? field.slice(0, 2) + field.slice(3) : `${field}x`
  const named = (name: string, of: any): Mutant => ({ label: name, value: of })
  const forms = [
    named('pair', { [field]: [operator, value] }),
    named('operator as key', { [field]: { [operator]: value } }),
    named('$ operator as key', { [field]: { [`$${short}`]: value } }),
    named('triples', [[field, operator, value]]),
    named('one triple', [field, operator, value]),
    named('with doctype', [[doctype, field, operator, value]]),
    named('one with doctype', [doctype, field, operator, value]),
    named('field, operator, value', [{ field, operator, value }]),
    named('the same alone', { field, operator, value }),
    named('fieldname', [{ fieldname: field, operator, value }]),
    named('op', [{ field, op: operator, value }]),
    named('name, cond', [{ name: field, condition: operator, value }]),
    named('column', [{ column: field, operator, value }]),
    named('values', [{ field, operator, values: value }]),
    named('Django', { [`${field}__${short}`]: value }),
    named('key with operator', { [`${field} ${operator}`]: value }),
    named('dotted', { [`${field}.${short}`]: value }),
    named('bracketed', { [`${field}[${short}]`]: value }),
    named('and', { and: [{ [field]: [operator, value] }] }),
    named('$and', { $and: [{ [field]: { [operator]: value } }] }),
    named('AND', { AND: [[field, operator, value]] }),
    named('conditions', { conditions: [{ field, operator, value }] }),
    named('filters', { filters: { [field]: [operator, value] } }),
    named('in a list', [{ [field]: [operator, value] }]),
    named('an expression', `${field} ${operator} ${asText}`),
    named('an expression, quoted', `${field} ${operator} '${asText}'`),
    named('expressions', [`${field} ${operator} ${asText}`]),
    named('a query string', `${field}=${asText}`),
    named('operator in the value', { [field]: `${operator} ${asText}` }),
    named('operator at the value', { [field]: `${operator}${asText}` }),
    named('short word in the value', { [field]: `${short}:${asText}` }),
    named('pair in a list', { [field]: [[operator, value]] }),
    named('operator, value', { [field]: { operator, value } }),
    named('op, val', { [field]: { op: operator, val: value } }),
    named('value before operator', { [field]: [value, operator] }),
    named('operator outside', { [operator]: { [field]: value } }),
    named('short word outside', { [short]: [field, value] }),
    named('JSON in a text', JSON.stringify({ [field]: [operator, value] })),
    named('triples in a text', JSON.stringify([[field, operator, value]])),
    named('JSON twice', JSON.stringify(JSON.stringify({ [field]: [operator, value] }))),
    named('Python', `{'${field}': ['${operator}', '${asText}']}`),
    named('fenced', `\`\`\`json\n${JSON.stringify({ [field]: [operator, value] })}\n\`\`\``),
    named('each a text', { [field]: JSON.stringify([operator, value]) }),
    named('field in capitals', { [field.toUpperCase()]: [operator, value] }),
    named('label of the field', { [label]: [operator, value] }),
    named('camel case', { [camel]: [operator, value] }),
    named('blanks', { [` ${field} `]: [operator, value] }),
    named('dashes', { [field.replaceAll('_', '-')]: [operator, value] }),
    named('with table', { [`${doctype.toLowerCase().replaceAll(' ', '_')}.${field}`]: [operator, value] }),
    named('quoted', { [`\`${field}\``]: [operator, value] }),
    named('mistyped', { [typo]: [operator, value] }),
    named('twice', [
      [field, operator, value],
      [field, operator, value],
    ]),
    named('an empty one beside', { [field]: [operator, value], '': '' }),
  ]
  if (operator === '=')
    forms.push(
      named('plain', { [field]: value }),
      named('pair of names', [[field, value]]),
      named('a list of one', { [field]: [value] }),
    )
  if (operator === '!=')
    forms.push(
      named('! before', { [`!${field}`]: value }),
      named('not outside', { not: { [field]: value } }),
      named('- before', { [`-${field}`]: value }),
    )
  if (Array.isArray(value))
    forms.push(
      named('flat', { [field]: [operator, ...value] }),
      named('bare list', { [field]: value }),
      named('flat triple', [[field, operator, ...value]]),
    )
  for (const word of operatorsFor(operator))
    forms.push(
      named(`pair ${word}`, { [field]: [word, value] }),
      named(`key ${word}`, { [field]: { [word]: value } }),
      named(`triple ${word}`, [[field, word, value]]),
      named(`object ${word}`, [{ field, operator: word, value }]),
    )
  for (const { label: spelling, value: other } of spellingsOf(value))
    forms.push(
      named(`value ${spelling}`, { [field]: [operator, other] }),
      named(`triple value ${spelling}`, [[field, operator, other]]),
    )
  if (operator === '=')
    for (const { label: spelling, value: other } of spellingsOf(value))
      forms.push(named(`plain ${spelling}`, { [field]: other }))
  return forms
}

/** Conditions on what is not there, in the words of many languages. */
export function formsOfNotSet(field: string): Mutant[] {
  const pairs = [
    '["is","null"]',
    '["is","NULL"]',
    '["is","empty"]',
    '["is","None"]',
    '["=",null]',
    '["is",null]',
    '["=",""]',
    '["=","null"]',
    '["is null"]',
    '["is empty"]',
    '["not set"]',
    '["isnull",true]',
    '["exists",false]',
    '["is not","set"]',
    '{"$exists":false}',
    '{"is":null}',
    '{"is_null":true}',
    '{"isnull":true}',
    'null',
    '""',
    '"null"',
    '"not set"',
    '"is not set"',
    '"None"',
    '[]',
    '[null]',
    '["in",[null]]',
    '["!=","set"]',
    '["is","unset"]',
    '["is","blank"]',
    '["=","not set"]',
  ]
  return pairs.map((text) => ({ label: `not set: ${text}`, value: { [field]: JSON.parse(text) as unknown } }))
}
