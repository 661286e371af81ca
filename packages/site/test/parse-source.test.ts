import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseAhead, parseSource } from '#site/parse-source.ts'
import { faultText } from '#site/site-files.ts'

const parse = (text: string, file = 'config/a.yaml') => parseSource(file, Buffer.from(text))
const faults = (text: string, file?: string) => parse(text, file).faults.map(faultText)

function documentOf(text: string, file?: string) {
  const { document, faults } = parse(text, file)
  assert.deepEqual(faults, [])
  assert.ok(document)
  return document
}

describe('parsing YAML', () => {
  it('gives plain data in which dates stay text and words are not switches', () => {
    const { data } = documentOf(
      'day: 2026-01-31\ntime: 2026-01-31T10:00:00Z\nanswer: no\nnorway: NO\nn: 1.5\nyes: on\n',
    )
    assert.deepEqual(data, {
      day: '2026-01-31',
      time: '2026-01-31T10:00:00Z',
      answer: 'no',
      norway: 'NO',
      n: 1.5,
      yes: 'on',
    })
  })

  it('gives again what was parsed ahead, for the same bytes of the same file alone', () => {
    const of = (text: string): Buffer => Buffer.from(text)
    const known = parseAhead('settings.yaml', of('a: 1'))
    assert.equal(parseSource('settings.yaml', of('a: 1')), known)
    assert.deepEqual(parseSource('settings.yaml', of('a: 2')).document?.data, { a: 2 })
    assert.equal(parseSource('other.yaml', of('a: 1')).document?.file, 'other.yaml')
    assert.deepEqual(parseAhead('settings.yaml', of('a: [')).document, undefined)
    assert.equal(parseSource('settings.yaml', of('a: [')).faults.length, 1)
  })

  it('gives null for an empty file, and text keys for numbers', () => {
    assert.equal(documentOf('').data, null)
    assert.equal(documentOf('# only a comment\n').data, null)
    assert.deepEqual(documentOf('2026: a\n').data, { '2026': 'a' })
  })

  for (const [name, text, expected] of [
    ['a duplicate key', 'a: 1\nb: 2\na: 3\n', ['config/a.yaml:3:1 "a" is given twice in the same map']],
    [
      'a tab as indentation',
      'a:\n\tb: 1\n',
      ['config/a.yaml:2:1 tabs are not allowed as indentation; use spaces'],
    ],
    ['a custom tag', 'a: !env PASSWORD\n', ['config/a.yaml:1:4 tags are not read; write plain values']],
    [
      'a known tag outside the core schema',
      'a: !!binary aGk=\n',
      ['config/a.yaml:1:4 tags are not read; write plain values'],
    ],
    [
      'a second document',
      'a: 1\n---\nb: 2\n',
      ['config/a.yaml:2:1 a file holds one YAML document; remove the second "---"'],
    ],
    ['an alias without an anchor', 'a:\n  b: *c\n', ['config/a.yaml:2:6 "*c" names no anchor above it']],
    ['a key that is a map', '? {a: 1}\n: b\n', ['config/a.yaml:1:3 a key must be text']],
    [
      'a key that reaches the prototype',
      'a:\n  __proto__: {x: 1}\n',
      ['config/a.yaml:2:3 "__proto__" is not a key'],
    ],
    [
      'a number that JSON cannot write',
      'a: .nan\n',
      ['config/a.yaml:1:4 is not a number that JSON can write'],
    ],
    [
      'a number that would lose digits',
      'iban: 12345678901234567890\n',
      ['config/a.yaml:1:7 has too many digits for a number; put it in quotes to keep it as text'],
    ],
    [
      'a %YAML directive',
      '%YAML 1.1\n---\na: yes\n',
      ['config/a.yaml:1:1 directives are not read; remove the line that begins with "%"'],
    ],
  ] as const) {
    it(`refuses ${name} and says where`, () => assert.deepEqual(faults(text), expected))
  }

  it('reports several faults of one file at once', () => {
    const found = faults('a: 1\na: 2\nb:\n  c: 1\n  c: 2\nd: !x y\n')
    assert.deepEqual(found, [
      'config/a.yaml:2:1 "a" is given twice in the same map',
      'config/a.yaml:5:3 "c" is given twice in the same map',
      'config/a.yaml:6:4 tags are not read; write plain values',
    ])
  })

  it('names the line of bytes that are not UTF-8', () => {
    const bytes = Buffer.concat([
      Buffer.from('a: 1\nb: '),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('\nc: 2\n'),
    ])
    assert.deepEqual(parseSource('config/a.yaml', bytes).faults.map(faultText), [
      'config/a.yaml:2:1 is not UTF-8 text',
    ])
  })

  it('does not expand a billion laughs', () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]']
    for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg', 'gh', 'hi']) {
      lines.push(`${to}: &${to} [${Array(9).fill(`*${from}`).join(', ')}]`)
    }
    const found = faults(lines.join('\n'))
    assert.equal(found.length, 1)
    assert.match(found[0]!, /^config\/a\.yaml:\d+:\d+ excessive alias count/)
  })

  it('stops counting aliases early, however many there are', () => {
    const found = faults(`a: &a 1\nb: [${Array(50_000).fill('*a').join(',')}]\n`)
    assert.deepEqual(found.length, 1)
    assert.match(found[0]!, /config\/a\.yaml:2:\d+ more than 100 aliases/)
  })

  for (const piece of ['[', '{a: ', '- ', '? ', '[a, ', 'a: [']) {
    it(`refuses ${JSON.stringify(piece)} a hundred thousand times instead of running out of memory`, () => {
      const found = faults(`x:\n  ${piece.repeat(100_000)}`)
      assert.deepEqual(found, ['config/a.yaml:1:1 is nested more than 100 levels deep'])
    })
  }

  it('allows brackets and dashes in text, however many', () => {
    const text = '[{- '.repeat(1000)
    assert.deepEqual(documentOf(`a: |\n  ${text}\nb: "${text}"\n`).data, {
      a: `${text.trimEnd()} \n`,
      b: text,
    })
    assert.equal(documentOf(`---\na: 1\n---\n${text}`, 'prompts/a.md').body, text)
  })

  it('checks a hundred thousand keys of one map for duplicates in one pass', () => {
    const keys = Array.from({ length: 100_000 }, (_, index) => `k${index}: 1\n`).join('')
    assert.deepEqual(faults(`${keys}k5: 2\n`), ['config/a.yaml:100001:1 "k5" is given twice in the same map'])
  })

  it('survives arbitrary noise without throwing', () => {
    const pieces = [
      'a',
      ':',
      ' ',
      '\n',
      '-',
      '[',
      ']',
      '{',
      '}',
      '&x',
      '*x',
      '!',
      '"',
      "'",
      '|',
      '>',
      '#',
      '%',
      '\t',
      '\r',
      '?',
      '---',
      '\u0000',
      '😀',
    ]
    let seed = 42
    const next = (): number => (seed = (seed * 1103515245 + 12345) % 2147483648)
    for (let run = 0; run < 3000; run++) {
      const text = Array.from({ length: next() % 40 }, () => pieces[next() % pieces.length]).join('')
      const { document, faults } = parse(text, run % 2 ? 'config/a.yaml' : 'prompts/a.md')
      assert.ok(document !== undefined || faults.length > 0, JSON.stringify(text))
      for (const fault of faults) assert.ok(fault.line >= 1 && fault.column >= 1, JSON.stringify(text))
    }
  })
})

describe('parsing markdown', () => {
  it('separates front matter and body, and counts lines from the top of the file', () => {
    const document = documentOf('---\ntitle: T\nargs:\n  - name: a\n---\n# Body\n\nText\n', 'prompts/a.md')
    assert.deepEqual(document.data, { title: 'T', args: [{ name: 'a' }] })
    assert.equal(document.body, '# Body\n\nText\n')
    assert.equal(
      faultText(document.fault(['args', 0, 'name'], 'wrong')),
      'prompts/a.md:4:11 args[0].name: wrong',
    )
    assert.equal(faultText(document.fault([], 'wrong')), 'prompts/a.md:2:1 wrong')
  })

  it('places YAML faults of front matter in the file', () => {
    assert.deepEqual(faults('---\ntitle: a\ntitle: b\n---\nBody\n', 'prompts/a.md'), [
      'prompts/a.md:3:1 "title" is given twice in the same map',
    ])
  })

  it('treats Windows line ends and a byte order mark like any other text, and keeps the bytes', () => {
    const text = '\ufeff---\r\ntitle: T\r\nlist:\r\n  - x\r\n---\r\nBody\r\nmore\r\n'
    const document = documentOf(text, 'prompts/a.md')
    assert.deepEqual(document.data, { title: 'T', list: ['x'] })
    assert.equal(document.body, 'Body\nmore\n')
    assert.deepEqual(Buffer.from(document.bytes), Buffer.from(text))
    assert.equal(faultText(document.fault(['list', 0], 'wrong')), 'prompts/a.md:4:5 list[0]: wrong')
    const yaml = documentOf('\ufeffa: 1\r\nb:\r\n  c: 2\r\n')
    assert.equal(faultText(yaml.fault(['b', 'c'], 'wrong')), 'config/a.yaml:3:6 b.c: wrong')
    assert.equal(faultText(yaml.fault(['a'], 'wrong')), 'config/a.yaml:1:4 a: wrong')
  })

  it('has no data without front matter, and a body that may hold lines of dashes', () => {
    const bare = documentOf('# Title\n---\nnot: data\n', 'prompts/README.md')
    assert.equal(bare.data, null)
    assert.equal(bare.body, '# Title\n---\nnot: data\n')
    const ruled = documentOf('---\na: 1\n---\none\n---\ntwo\n', 'prompts/a.md')
    assert.deepEqual([ruled.data, ruled.body], [{ a: 1 }, 'one\n---\ntwo\n'])
    const empty = documentOf('---\n---\nbody', 'prompts/a.md')
    assert.deepEqual([empty.data, empty.body], [null, 'body'])
  })

  it('refuses front matter that is not closed', () => {
    assert.deepEqual(faults('---\ntitle: T\n', 'prompts/a.md'), [
      'prompts/a.md:1:1 the front matter is not closed by "---"',
    ])
  })
})

describe('the place of a path', () => {
  const text = [
    '# comment',
    'server:',
    '  port: 80',
    '  hosts: [a.example, b.example]',
    'users:',
    '  - email: a@example.com',
    '    roles:',
    '      - Sales User',
    'base: &base',
    '  x: 1',
    'copy: *base',
    'empty:',
    '',
  ].join('\n')
  const at = (path: (string | number)[], where?: 'key' | 'value'): string => {
    const { line, column } = documentOf(text).fault(path, 'm', where)
    return `${line}:${column}`
  }

  it('is the value on the line of its key, the key otherwise, and the item in a list', () => {
    assert.equal(at(['server', 'port']), '3:9')
    assert.equal(at(['server']), '2:1')
    assert.equal(at(['server', 'hosts', 1]), '4:22')
    assert.equal(at(['users', 0]), '6:5')
    assert.equal(at(['users', 0, 'roles']), '7:5')
    assert.equal(at(['users', 0, 'roles', 0]), '8:9')
    assert.equal(at(['empty']), '12:1')
  })

  it('is the key when asked for, and what is around it for what is missing', () => {
    assert.equal(at(['server', 'port'], 'key'), '3:3')
    assert.equal(at(['server', 'nope']), '2:1')
    assert.equal(at(['users', 7, 'email']), '5:1')
    assert.equal(at(['server', 'port', 'deeper']), '3:9')
    assert.equal(at([]), '2:1')
  })

  it('follows aliases', () => assert.equal(at(['copy', 'x']), '10:6'))
})
