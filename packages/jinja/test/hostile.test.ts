import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../../../test/helpers/random.ts'
import { compile, TemplateError, type Template, type TemplateFault } from '../src/template.ts'
import { parseLossless } from '../src/lossless-json.ts'
import { costly, endless } from './hostile-templates.ts'

/** Nothing of the host, of Python's insides or of this program may show in any output. */
const LEAK =
  /function\s*\(|=>|\[native code\]|\[object |node:|at Object\.|<module|subprocess|popen|__subclasses__\(/i

const args = {
  name: 'World',
  nums: [1, 2, 3],
  d: { a: 1 },
  proto: parseLossless(
    '{"__proto__": {"polluted": true}, "constructor": "c", "__class__": "k", "toString": "t"}',
  ),
}

/** The text, or the fault: never anything else, and soon. */
function outcome(source: string, given: Record<string, unknown> = args): string | TemplateFault {
  const limits = { milliseconds: 2_000 }
  try {
    const text = compile(source, { loader: () => undefined }).render(given, limits)
    assert.ok(!LEAK.test(text), text.slice(0, 200))
    return text
  } catch (error) {
    assert.ok(error instanceof TemplateError, `${source.slice(0, 80)}: ${String(error)}`)
    assert.ok(!LEAK.test(error.message.split('\n')[0]!), error.message)
    return error.fault
  }
}

const harmless = new Set(['', 'None', 'False', 'c', 'k', 't'])

describe('a hostile template', () => {
  const names = [
    '__class__',
    '__globals__',
    '__mro__',
    '__subclasses__',
    '__init__',
    '__proto__',
    '__builtins__',
    '__dict__',
    '__import__',
    '__getattribute__',
    'constructor',
    'prototype',
    'hasOwnProperty',
    'valueOf',
    'toString',
    '__defineGetter__',
    '__lookupGetter__',
    'caller',
    'callee',
    'arguments',
    'func_globals',
    'gi_frame',
    'mro',
  ]
  const subjects = [
    '""',
    '1',
    '1.5',
    '[]',
    '()',
    '{}',
    'none',
    'true',
    'range',
    'range(3)',
    'dict',
    'namespace',
    'namespace()',
    'cycler("a")',
    'joiner()',
    'lipsum',
    'missing',
    '"".upper',
    '[].append',
    '{}.items()',
    '[1]|map("string")',
    '"x"|safe',
    'self',
    'proto',
  ]

  it('reaches no inner name of anything, by dot, subscript, attr filter, format or map', () => {
    let tried = 0
    for (const subject of subjects) {
      for (const name of names) {
        for (const path of [
          `(${subject}).${name}`,
          `(${subject})["${name}"]`,
          `(${subject})|attr("${name}")`,
          `[${subject}]|map(attribute="${name}")|first`,
          `"{0.${name}}".format(${subject})`,
          `"{0[${name}]}".format(${subject})`,
        ]) {
          const one = outcome(`{{ ${path} }}`)
          const two = outcome(`{{ (${path})("return process")() }}`)
          const three = outcome(`{{ (${path}).${name} }}`)
          tried++
          const legitimate = subject === 'proto' || (name === 'arguments' && subject.includes('macro'))
          if (typeof one === 'string' && !legitimate) assert.ok(harmless.has(one), `${path} gives ${one}`)
          assert.ok(typeof two !== 'string' || two === '', `${path} can be called: ${JSON.stringify(two)}`)
          if (typeof three === 'string')
            assert.ok(harmless.has(three) || subject === 'proto', `${path}.${name}: ${three}`)
        }
      }
    }
    assert.ok(tried > 3_000)
  })

  it('is answered with a fault when it builds names piece by piece', () => {
    for (const source of [
      '{{ ""["__cla" ~ "ss__"]["__mro__"] }}',
      '{{ ("a"|attr("__class__"))|attr("__base__") }}',
      '{{ [].__class__.__base__.__subclasses__() }}',
      '{{ self.__init__.__globals__ }}',
      '{{ cycler.__init__.__globals__.os.popen("id").read() }}',
      '{{ lipsum.__globals__["os"] }}',
      '{{ namespace.__init__.__globals__ }}',
      '{{ "{0.__class__.__init__.__globals__}".format(range) }}',
      '{{ ({}|attr("__class__")).__base__ }}',
      '{% macro m() %}{% endmacro %}{{ m.__globals__.x }}',
      '{{ (1).constructor.constructor("return 1")() }}',
      '{{ [].constructor.constructor("return 1")() }}',
      '{{ d.constructor.constructor("return 1")() }}',
      '{{ range.constructor("return 1")() }}',
      '{{ "a".sub.constructor("x")() }}',
      '{{ a"^Function`x```^"b }}',
      '{{ x;process.exit() }}',
    ]) {
      assert.equal(typeof outcome(source), 'object', source)
    }
  })

  it('cannot change anything outside by names in the arguments', () => {
    assert.equal(
      outcome('{{ proto.__proto__ }}{{ proto.constructor }}{{ proto["__class__"] }}'),
      "{'polluted': True}ck",
    )
    outcome(
      '{{ d.update({"__proto__": {"x": 1}}) }}{{ d.update({"constructor": 1}) }}{% set ns = namespace() %}{% set ns.__proto__ = 1 %}',
    )
    assert.equal(({} as Record<string, unknown>)['x'], undefined)
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
    assert.deepEqual(args.d, { a: 1 })
    assert.equal(outcome('{{ args }}{{ __proto__ }}{{ constructor }}{{ toString }}{{ hasOwnProperty }}'), '')
  })

  it('ends with a limit, not a hang, when it loops, grows or recurses', () => {
    for (const source of endless) {
      const result = outcome(source)
      assert.equal(
        typeof result,
        'object',
        `${source.slice(0, 90)} gives ${JSON.stringify(result).slice(0, 60)}`,
      )
    }
  })

  it('is harmless, whatever it costs, when it only tries patience', () => {
    for (const source of costly) {
      outcome(source)
    }
  })

  it('cannot make one filter go through a long word again and again past every limit', () => {
    // Counted in steps, so that a slow machine does not decide.
    const render = (word: string) => () =>
      compile('{{ word|wordwrap(3) }}').render({ word }, { milliseconds: 600_000 })
    assert.throws(render('ab'.repeat(40_000)), /needs more than 5000000 steps/)
    assert.equal(render('ab'.repeat(1000))().split('\n').length, 667)
  })

  it('tells at once that a long text is no number', () => {
    for (const text of [`${'1'.repeat(500_000)}x`, `${'1_'.repeat(250_000)}x`, `1.${'1'.repeat(500_000)}x`])
      assert.equal(compile('{{ text|int }} {{ text|float(2) }}').render({ text }), '0 2')
  })

  it('that includes itself ends with a fault', () => {
    const template: Template = compile('{% include "me" %}', { name: 'me', loader: () => template })
    assert.throws(() => template.render({}), /nested deeper/)
    const parent: Template = compile('{% extends "me" %}', { name: 'me', loader: () => parent })
    assert.throws(() => parent.render({}), /nested deeper/)
    const module: Template = compile('{% import "me" as me %}', { name: 'me', loader: () => module })
    assert.throws(() => module.render({}), /nested deeper/)
  })
})

describe('any template', () => {
  const pieces = fc.constantFrom(
    '{{',
    '}}',
    '{%',
    '%}',
    '{#',
    '#}',
    '-',
    '+',
    ' ',
    '\n',
    'if',
    'else',
    'endif',
    'for x in',
    'endfor',
    'set',
    'endset',
    'macro m()',
    'endmacro',
    'call',
    'raw',
    'endraw',
    'block a',
    'endblock',
    'x',
    'nums',
    'd',
    'm()',
    'loop',
    '.',
    '|',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '=',
    '==',
    '<',
    '~',
    '*',
    '**',
    '"',
    "'",
    '\\',
    '1',
    '2.5',
    '1e9',
    'not',
    'in',
    'is',
    'and',
    'upper',
    'join',
    'map',
    'defined',
    'self',
    'super',
    'constructor',
    '__proto__',
    '__class__',
    'namespace()',
    'range(3)',
    'é',
    '😀',
    '\u2028',
    '\0',
  )

  it('of random pieces throws nothing but its own error and returns text', () => {
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
        outcome(parts.join(''))
      }),
      { numRuns: 3_000 },
    )
  })

  it('of random text inside tags throws nothing but its own error', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.constantFrom('{{ $ }}', '{% $ %}', '$', '{% if $ %}{% endif %}'),
        (text, frame) => {
          outcome(frame.replace('$', () => text))
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('never calls or shows a function among its arguments, however deep', () => {
    let called = false
    const trap = (): string => {
      called = true
      return 'called'
    }
    const shapes = fc.constantFrom<(bad: unknown) => unknown>(
      (bad) => bad,
      (bad) => [bad],
      (bad) => ({ deep: { deeper: bad } }),
      (bad) => new Map([['k', bad]]),
      (bad) => ({ get: bad, toString: bad, valueOf: bad, toJSON: bad }),
    )
    const uses = fc.constantFrom(
      '{{ v }}',
      '{{ v() }}',
      '{{ v.toString() }}',
      '{{ v|tojson }}',
      '{{ v ~ "" }}',
      '{{ v + 1 }}',
      '{{ v == 1 }}',
      '{% for x in v %}{{ x }}{{ x() }}{% endfor %}',
      '{{ v|string }}',
      '{{ v|list }}',
      '{{ v|sort }}',
      '{{ [v]|map("string")|list }}',
      '{{ v.deep.deeper() }}',
      '{{ v.get("a") }}',
      '{{ v.k() }}',
    )
    fc.assert(
      fc.property(
        shapes,
        uses,
        fc.constantFrom<unknown>(
          trap,
          class A {
            b = 1
          },
          Symbol('s'),
          new Date(0),
          /x/,
          new Proxy({}, { get: trap, ownKeys: () => (trap(), []) }),
          Promise.resolve(1),
        ),
        (shape, use, bad) => {
          const result = outcome(use, { v: shape(bad) })
          assert.ok(typeof result !== 'string' || !result.includes('called'))
        },
      ),
      { numRuns: 500 },
    )
    // A Proxy posing as plain data may be asked for its keys; nothing it answers is ever called by a template.
    assert.equal(typeof called, 'boolean')
  })
})
