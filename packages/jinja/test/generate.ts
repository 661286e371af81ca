/** Random templates: mostly sensible, mixing every feature; the same for the same seed. */

/** A small deterministic source of choices (mulberry32). */
export function chooser(seed: number): Chooser {
  let state = seed
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
  return { below, pick: (all) => all[below(all.length)]! }
}

export interface Chooser {
  below(limit: number): number
  pick<T>(all: readonly T[]): T
}

const NAMES = [
  'name',
  'n',
  'f',
  'half',
  'whole',
  'yes',
  'no',
  'nothing',
  'missing',
  'nums',
  'floats',
  'words',
  'mixed',
  'd',
  'user',
  'users',
  'text',
  'html',
  'uni',
  'neg',
  'empty',
  'none_list',
  'nested',
  'pairs',
  'long',
  'big',
]
const LITERALS = [
  '1',
  '0',
  '-1',
  '2.5',
  '1.0',
  '"a"',
  '"B c"',
  '""',
  'true',
  'false',
  'none',
  '[]',
  '{}',
  '()',
  '[1, 2, 3]',
  '[3.0, 1, 2]',
  '["b", "A"]',
  '{"a": 1, "b": "x"}',
  '(1, "z")',
  '"1.5"',
  '"12"',
  "'it\\'s'",
  '"<b>&"',
  'range(4)',
  '1e20',
  '"x\\ny z"',
  '[none, 1]',
  '[[1, 2], [0, 9]]',
  '[{"k": 2}, {"k": 1}]',
]
const OPERATORS = [
  '+',
  '-',
  '*',
  '/',
  '//',
  '%',
  '~',
  '==',
  '!=',
  '<',
  '>',
  '<=',
  '>=',
  'in',
  'not in',
  'and',
  'or',
]
const PLAIN_FILTERS = [
  'upper',
  'lower',
  'title',
  'capitalize',
  'trim',
  'length',
  'first',
  'last',
  'list',
  'string',
  'reverse',
  'sort',
  'unique|list',
  'min',
  'max',
  'sum',
  'abs',
  'int',
  'float',
  'round',
  'e',
  'striptags',
  'urlencode',
  'tojson',
  'pprint',
  'wordcount',
  'filesizeformat',
  'indent',
  'dictsort',
  'items|list',
  'join',
  'count',
  'forceescape',
  'safe',
  'xmlattr',
  'urlize',
  'center',
  'truncate',
  'wordwrap',
  'd',
]
const ARGUMENT_FILTERS = [
  'default("x")',
  'default("x", true)',
  'join(", ")',
  'join("-", attribute="k")',
  'round(1)',
  'round(2, "floor")',
  'round(-1)',
  'truncate(5)',
  'truncate(8, true, "..")',
  'truncate(6, leeway=0)',
  'replace("a", "b")',
  'replace("e", "3", 1)',
  'batch(2)|list',
  'batch(2, "-")|list',
  'slice(2)|list',
  'slice(3, 0)|list',
  'map("string")|list',
  'map("upper")|join',
  'map(attribute="k")|list',
  'map(attribute="name", default="?")|list',
  'select("odd")|list',
  'reject("none")|list',
  'select|list',
  'select("gt", 1)|list',
  'selectattr("k")|list',
  'selectattr("age", "gt", 25)|map(attribute="name")|list',
  'rejectattr("active")|list|length',
  'sort(reverse=true)',
  'sort(case_sensitive=true)',
  'sort(attribute="k")',
  'groupby("k")',
  'groupby("city")|map("first")|list',
  'sum(attribute="k")',
  'int(7)',
  'float(0.5)',
  'indent(2, true)',
  'indent(width=1, blank=true)',
  'center(9)',
  'wordwrap(7)',
  'wordwrap(5, false, "|")',
  'tojson(indent=1)',
  'format(1)',
  'format("a", 2)',
  'dictsort(reverse=true)',
  'dictsort(false, "value")',
  'min(attribute="k")',
  'max(case_sensitive=true)',
  'trim("a")',
  'unique(case_sensitive=true)|list',
  'filesizeformat(true)',
  'attr("upper")',
]
const TESTS = [
  'defined',
  'undefined',
  'none',
  'string',
  'number',
  'integer',
  'float',
  'boolean',
  'mapping',
  'sequence',
  'iterable',
  'odd',
  'even',
  'lower',
  'upper',
  'divisibleby 2',
  'divisibleby(3)',
  'eq 1',
  'in [1, 2, "a"]',
  'sameas none',
  'gt 1',
  'true',
  'callable',
  'escaped',
]
const METHODS = [
  'upper()',
  'split()',
  'split(" ")',
  'strip()',
  'title()',
  'replace("a", "o")',
  'startswith("a")',
  'find("o")',
  'count("a")',
  'join(["x", "y"])',
  'splitlines()',
  'format(1, 2)',
  'keys()|list',
  'values()|list',
  'items()|list',
  'get("a")',
  'get("zz", 0)',
  'index(1)',
  'append(1)',
  'pop()',
  'isdigit()',
  'center(7)',
  'zfill(4)',
  'partition("o")',
  'swapcase()',
  'rsplit(None, 1)',
  'copy()',
  'capitalize()',
]
const FORMATS = [
  '"%s|%s" % (A, B)',
  '"%d" % A',
  '"%5.2f" % A',
  '"%r" % A',
  '"%-6s|" % A',
  '"%05d" % A',
  '"%x" % A',
  '"%e" % A',
  '"%g" % A',
  '"{}".format(A)',
  '"{:>6}|{:<4}".format(A, B)',
  '"{:.2f}".format(A)',
  '"{:,}".format(A)',
  '"{:05d}".format(A)',
  '"{!r:^9}".format(A)',
  '"{0[0]}".format(A)',
  '"{:g}".format(A)',
  '"{:e}".format(A)',
  '"{:.1%}".format(A)',
  '"{:+}".format(A)',
]
const SUBSCRIPTS = [
  '[0]',
  '[-1]',
  '[1:]',
  '[:2]',
  '[::-1]',
  '[::2]',
  '[-2:]',
  '["a"]',
  '.a',
  '.name',
  '.k',
  '[5]',
  '.0',
  '[1:-1]',
  '.items',
  '[none]',
]

/** A random template. */
export function template(c: Chooser): string {
  const parts = Array.from({ length: 1 + c.below(2) }, () => statement(c, 1))
  return parts.join(c.pick(['', ' ', '\n', ' \n ', ' - ']))
}

function statement(c: Chooser, depth: number): string {
  const inner = (): string => (depth > 0 ? statement(c, depth - 1) : print(c))
  const l = c.pick(['', '', '', '-'])
  const r = c.pick(['', '', '', '-'])
  switch (c.below(14)) {
    case 0:
      return `{%${l} if ${expr(c, 1)} ${r}%} ${inner()} {%${l} else ${r}%} ${inner()} {%${l} endif ${r}%}`
    case 1:
      return `{%${l} for x in ${iterable(c)} ${r}%} ${loopBody(c, inner)} {%${l} endfor ${r}%}`
    case 2:
      return `{% for x in ${iterable(c)} if ${c.pick(['x', 'x is defined', 'x is not none', 'x != 1', 'x is odd'])} %}${loopBody(c, inner)}{% else %}E{% endfor %}`
    case 3:
      return `{% set v = ${expr(c, 2)} %}${inner()}{{ v }}`
    case 4:
      return `{% set v %}${inner()}{% endset %}[{{ v }}]`
    case 5:
      return `{% macro m(a, b=${expr(c, 0)}) %}${c.pick(['{{ a }}', '{{ b }}', '{{ a ~ b }}'])}${inner()}{% endmacro %}{{ m(${expr(c, 0)}) }}`
    case 6:
      return `{% with w = ${expr(c, 1)} %}{{ w }}${inner()}{% endwith %}`
    case 7:
      return `{% set ns = namespace(t=0) %}{% for x in ${iterable(c)} %}{% set ns.t = ${c.pick(['ns.t + 1', 'x', 'ns.t ~ x'])} %}{% endfor %}{{ ns.t }}`
    case 8:
      return `{% filter ${c.pick(['upper', 'trim', 'title', 'replace("a", "4")', 'indent'])} %}${inner()}{% endfilter %}`
    case 9:
      return `{% for k, v in ${c.pick(['d.items()', 'pairs', 'd|dictsort', 'user|items', '[(1, 2)]', 'users|groupby("city")'])} %}{{ k }}={{ v }}{{ ';' if not loop.last }}{% endfor %}`
    default:
      return print(c, l, r)
  }
}

function loopBody(c: Chooser, inner: () => string): string {
  return c.pick([
    '{{ x }},',
    '{{ loop.index }}{{ x }}',
    '{{ loop.first }}{{ loop.last }}',
    '{{ loop.length }}{{ loop.revindex }}',
    '{{ loop.cycle("a", 1) }}',
    '{% if loop.changed(x) %}{{ x }}{% endif %}',
    '{{ loop.previtem }}>{{ loop.nextitem }}',
    `{{ x }}${inner()}`,
    '{% set v = x %}{{ v }}',
    '{{ x[0] }}{{ x.name }}',
  ])
}

function print(c: Chooser, l = '', r = ''): string {
  return `{{${l} ${expr(c, 1 + c.below(2))} ${r}}}`
}

function iterable(c: Chooser): string {
  return c.pick([
    'nums',
    'words',
    'd',
    'users',
    'name',
    'range(3)',
    'none_list',
    'missing',
    '[1, 2, 1]',
    'd.items()',
    'nested',
    'nums|sort',
    'words|map("upper")',
    'nums|batch(2)',
    'mixed',
    '"ab"',
    '(1, "x")',
    'floats',
    'n',
    'users|map(attribute="name")',
    expr(c, 1),
  ])
}

/** A random expression. */
export function expr(c: Chooser, depth: number): string {
  if (depth <= 0) return c.below(2) === 0 ? c.pick(NAMES) : c.pick(LITERALS)
  const inner = (): string => expr(c, depth - 1)
  switch (c.below(13)) {
    case 0:
    case 1:
      return `${inner()} ${c.pick(OPERATORS)} ${inner()}`
    case 2:
      return `(${inner()} ${c.pick(OPERATORS)} ${inner()})`
    case 3:
    case 4:
      return `${atom(c, depth)}|${c.pick(PLAIN_FILTERS)}`
    case 5:
    case 6:
      return `${atom(c, depth)}|${c.pick(ARGUMENT_FILTERS)}`
    case 7:
      return `${atom(c, depth)} is ${c.pick(['', 'not '])}${c.pick(TESTS)}`
    case 8:
      return `${atom(c, depth)}${c.pick(SUBSCRIPTS)}`
    case 9:
      return `${atom(c, depth)}.${c.pick(METHODS)}`
    case 10:
      return `(${inner()} if ${inner()} else ${inner()})`
    case 11:
      return `(${c
        .pick(FORMATS)
        .replace('A', () => inner())
        .replace('B', () => expr(c, 0))})`
    default:
      return c.pick([
        `not ${inner()}`,
        `-${atom(c, depth)}`,
        `[${inner()}, ${inner()}]`,
        `{"k": ${inner()}}`,
        `(${inner()},)`,
        `${c.pick(NAMES)} ** 2`,
        `dict(a=${inner()})`,
      ])
  }
}

function atom(c: Chooser, depth: number): string {
  return c.below(3) === 0
    ? `(${expr(c, depth - 1)})`
    : c.below(2) === 0
      ? c.pick(NAMES)
      : `(${c.pick(LITERALS)})`
}

const PIECES = [
  'a',
  'b',
  'Word',
  'the',
  'x-y',
  'long-hyphen-ated',
  '--',
  ' -- ',
  ' ',
  '  ',
  '\n',
  '\n\n',
  '\t',
  '.',
  ',',
  '!',
  '(',
  ')',
  '<',
  '>',
  '&',
  '"',
  "'",
  '&lt;',
  '&amp;',
  '<b>',
  '</b>',
  '<!-- c -->',
  'é',
  'ß',
  '日本',
  '😀',
  'İ',
  'ǆ',
  'Σ',
  '1',
  '42',
  '3.5',
  '_',
  '%',
  '{',
  '}',
  '/',
  'http://a.com',
  'https://x.org/p?q=1',
  'www.foo.net',
  'me@ex.com',
  'mailto:a@b.de',
  'ftp://q.io',
  'foo.com',
  '\\',
  '\u00a0',
  '\u2028',
  '\x00',
  'ABC',
  'mIxEd',
  '\r\n',
  'supercalifragilistic',
  "they're",
  "O'Neil",
]
const TEXT_FILTERS = [
  'wordwrap(W)',
  'wordwrap(W, false)',
  'wordwrap(W, true, "|", false)',
  'truncate(W)',
  'truncate(W, true)',
  'truncate(W, leeway=0)',
  'truncate(W, false, "…", 2)',
  'indent(2)',
  'indent(">", true)',
  'indent(first=true, blank=true)',
  'urlize',
  'urlize(10)',
  'urlize(target="_t", nofollow=true)',
  'striptags',
  'title',
  'capitalize',
  'upper',
  'lower',
  'center(W)',
  'trim',
  'trim("ab .")',
  'wordcount',
  'e',
  'urlencode',
  'tojson',
  'pprint',
  'list',
  'reverse',
  'length',
  'first',
  'last',
  'replace("a", "XY")',
  'replace(" ", "", 1)',
  'forceescape',
  'int',
  'float',
  'string',
  'unique|join',
  'sort|join',
  'safe|striptags',
  'batch(3)|list',
  'slice(3)|list',
  'xmlattr',
]
const TEXT_METHODS = [
  'title()',
  'capitalize()',
  'swapcase()',
  'casefold()',
  'split()',
  'split(" ")',
  'split(none, 2)',
  'rsplit(none, 2)',
  'split("a", 1)',
  'rsplit("a", 1)',
  'splitlines()',
  'splitlines(true)',
  'strip()',
  'lstrip("aW ")',
  'rstrip(".! ")',
  'partition(" ")',
  'rpartition("a")',
  'find("a")',
  'rfind("a", 1)',
  'find("b", -3)',
  'count("a")',
  'count("", 1)',
  'isalpha()',
  'isdigit()',
  'isalnum()',
  'isspace()',
  'islower()',
  'isupper()',
  'istitle()',
  'isidentifier()',
  'isprintable()',
  'isnumeric()',
  'isdecimal()',
  'zfill(W)',
  'center(W, "*")',
  'ljust(W) ~ "|"',
  'rjust(W)',
  'expandtabs(4)',
  'replace("", "-", 3)',
  'encode()',
  'startswith("a")',
  'endswith((")", "a"))',
  'removeprefix("a")',
  'index("a")',
  'upper()',
  'lower()',
  'join("xyz")',
  'join(["1","2"])',
]
const TEXT_SLICES = [
  '[1]',
  '[-1]',
  '[1:3]',
  '[::-1]',
  '[-2:]',
  '[::2]',
  '[:-1]',
  '[5]',
  '[2:1]',
  '[-3:-1]',
  '[::-2]',
  '[10:]',
  '[:3:-1]',
]
const SPECIFICATIONS = [
  '',
  'd',
  '5d',
  '05d',
  '+d',
  ',',
  '.2f',
  '08.3f',
  '+.1e',
  'g',
  '.3g',
  '10.4g',
  '%',
  '.1%',
  'x',
  '#b',
  'o',
  '>10',
  '<10',
  '^10',
  '*^12',
  '=+10',
  '_',
  '.0f',
  '.10f',
  'e',
  ',.2f',
  '012,.1f',
  'n',
  'G',
  '#.3g',
  'c',
  's',
  ' d',
  ' .2f',
  '#x',
  '010x',
  '_b',
  '.2',
  '.1',
  '5',
]
const CONVERSIONS = [
  '%d',
  '%5d',
  '%-8d|',
  '%05d',
  '%+d',
  '%i',
  '%x',
  '%o',
  '%X',
  '%e',
  '%.2e',
  '%f',
  '%.1f',
  '%010.3f',
  '%g',
  '%.3g',
  '%#g',
  '%s',
  '%r',
  '%10s',
  '%-10s|',
  '%.3s',
  '%c',
  '%G',
  '%+.0f',
  '% d',
  '%.0e',
  '%a',
  '%u',
]
const NUMBER_FILTERS = [
  'round',
  'round(1)',
  'round(2)',
  'round(-1)',
  'round(0, "ceil")',
  'round(1, "floor")',
  'round(2, "ceil")',
  'int',
  'float',
  'string',
  'abs',
  'filesizeformat',
  'filesizeformat(true)',
  'tojson',
  'pprint',
]
const NUMBERS = [
  '0',
  '1',
  '-1',
  '2.5',
  '-0.5',
  '1e10',
  '123456.789',
  '0.1',
  '1e-7',
  '99',
  '-12345',
  '1e21',
  '0.5',
  '1.005',
  '2.675',
  '1e100',
  '12345678901234567890',
  'true',
  '3.0',
  '-2.0',
  '1e16',
  '123456789.0',
  '0.00012345',
]

function textLiteral(c: Chooser): string {
  const text = Array.from({ length: 1 + c.below(9) }, () => c.pick(PIECES)).join(c.pick(['', '', ' ']))
  return JSON.stringify(text)
}

/** A random text or number through one filter, method, slice or format. */
export function textTemplate(c: Chooser): string {
  const text = textLiteral(c)
  const width = (): string => String(c.below(30))
  const either = (): string => (c.below(4) > 0 ? c.pick(NUMBERS) : text)
  switch (c.below(8)) {
    case 0:
    case 1:
    case 2:
      return `{{ ${text}|${c.pick(TEXT_FILTERS).replace('W', width)} }}`
    case 3:
    case 4:
      return `{{ ${text}.${c.pick(TEXT_METHODS).replace('W', width)} }}`
    case 5:
      return `{{ ${text}${c.pick(TEXT_SLICES)} }}`
    case 6:
      return c.below(2) === 0
        ? `{{ "{:${c.pick(SPECIFICATIONS)}}".format(${either()}) }}`
        : `{{ "${c.pick(CONVERSIONS)}" % (${either()},) }}`
    default:
      return c.pick([
        `{{ (${c.pick(NUMBERS)})|${c.pick(NUMBER_FILTERS)} }}`,
        `{{ [${text}, [${text}], {"k": ${text}}] }}`,
        `{{ [${text}, {"key": [${text}, ${c.pick(NUMBERS)}, "${'word '.repeat(c.below(20))}"], "b": ${text}}]|pprint }}`,
      ])
  }
}
