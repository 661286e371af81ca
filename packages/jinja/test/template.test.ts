import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock, Limits } from '../src/limits.ts'
import { compile, TemplateError, type TemplateFault } from '../src/template.ts'
import { Float } from '../src/values.ts'

function faultOf(work: () => unknown): { message: string; data: TemplateFault } {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof TemplateError)
    return { message: error.message, data: error.fault }
  }
  return assert.fail('nothing was thrown')
}

function render(source: string, args: Record<string, unknown> = {}, limits: Partial<Limits> = {}): string {
  return compile(source).render(args, limits)
}

describe('a template', () => {
  it('is compiled once and renders many times without a trace of the time before', () => {
    const template = compile(
      '{% set _ = xs.append(n) %}{% set ns = namespace(k=0) %}{% set ns.k = ns.k + n %}{{ xs }}{{ ns.k }}',
    )
    const xs = [1]
    assert.equal(template.render({ xs, n: 2 }), '[1, 2]2')
    assert.equal(template.render({ xs, n: 3 }), '[1, 3]3')
    assert.deepEqual(xs, [1])
  })

  it('works constants out once, without a trace of escaping, faults or changes of what they gave', () => {
    const escaped = compile(
      '{% for on in [true, false, true] %}{% autoescape on %}{{ ["<a>", "b"]|join(" & ") }};{% endautoescape %}{% endfor %}',
    )
    const both = '&lt;a&gt; &amp; b;<a> & b;&lt;a&gt; &amp; b;'
    assert.deepEqual([escaped.render({}), escaped.render({})], [both, both])
    const changed = compile(
      '{% for _ in [1, 2] %}{% set all = [2, 1]|sort %}{{ all.append(3) }}{{ all }}{% endfor %}',
    )
    assert.equal(changed.render({}), 'None[1, 2, 3]None[1, 2, 3]')
    const faulty = compile('{% if n %}\n{{ "%d"|format("x") }}{% endif %}ok')
    assert.equal(faulty.render({ n: 0 }), 'ok')
    for (const _ of [1, 2]) assert.equal(faultOf(() => faulty.render({ n: 1 })).data.line, 2)
    assert.equal(faulty.render({ n: 0 }), 'ok')
    const often = compile('{% for _ in range(1000) %}{{ "a"|upper }}{% endfor %}')
    assert.equal(often.render({}), 'A'.repeat(1000))
    assert.match(faultOf(() => often.render({}, { steps: 500 })).message, /more than 500 steps/)
    const drawn = compile('{{ range(1000)|list|random }}')
    assert.ok(new Set(Array.from({ length: 20 }, () => drawn.render({}))).size > 1)
  })

  it('sorts numbers, texts and mixtures as Python does, equal ones in their order', () => {
    const sorted = (values: unknown[], how = 'sort'): string => render(`{{ values|${how} }}`, { values })
    assert.equal(sorted([10, 9, -1, 2.5, 2]), '[-1, 2, 2.5, 9, 10]')
    assert.equal(sorted(['b', 'A', 'a', 'B']), "['A', 'a', 'b', 'B']")
    assert.equal(sorted(['b', 'A', 'a', 'B'], 'sort(true)'), "['b', 'B', 'A', 'a']")
    assert.equal(sorted(['\u{10000}', '\ue000']), "['\\ue000', '\u{10000}']")
    assert.equal(
      sorted([
        [2, 'x'],
        [1, 'y'],
        [1, 'a'],
      ]),
      "[[1, 'a'], [1, 'y'], [2, 'x']]",
    )
    assert.match(
      faultOf(() => sorted([1, 'a'])).message,
      /'<' not supported between instances of 'str' and 'int'/,
    )
    assert.equal(
      render(
        '{% for city, all in p|groupby("c") %}{{ city }}{{ all|map(attribute="n")|join }};{% endfor %}',
        {
          p: [
            { c: 'b', n: 1 },
            { c: 'A', n: 2 },
            { c: 'B', n: 3 },
            { c: 'a', n: 4 },
          ],
        },
      ),
      'A24;b13;',
    )
  })

  it('writes dicts as JSON by their keys, whatever the dict before them had', () => {
    const all = [{ b: 1, a: 2 }, { b: 3, a: 4 }, { a: 5, b: 6 }, { c: '<' }, {}, { b: 1, a: { b: 2, a: 3 } }]
    const text =
      '[{"a": 2, "b": 1}, {"a": 4, "b": 3}, {"a": 5, "b": 6}, {"c": "\\u003c"}, {}, {"a": {"a": 3, "b": 2}, "b": 1}]'
    assert.equal(render('{{ all|tojson }}', { all }), text)
    assert.equal(render('{{ {2: 1, 1: 2, 10: 3}|tojson }}'), '{"1": 2, "2": 1, "10": 3}')
  })

  it('takes plain data of every kind and keeps what JSON cannot tell', () => {
    const args = {
      int: 1,
      float: 1.5,
      whole: new Float(1),
      half: new Float(0.5),
      big: 12345678901234567890n,
      huge: 1e300,
      none: null,
      absent: undefined,
      list: [1, new Float(2), 'x'],
      dict: { b: 1, a: [true] },
      ordered: new Map<unknown, unknown>([
        ['10', 1],
        ['9', 2],
        [3, 'int key'],
        [null, 0],
      ]),
      bare: Object.assign(Object.create(null) as object, { k: 1 }),
    }
    assert.equal(
      render(
        '{{ int }} {{ float }} {{ whole }} {{ half }} {{ big }} {{ huge }} {{ none }} {{ absent is defined }} {{ list }} {{ dict }} {{ ordered }} {{ bare }}',
        args,
      ),
      "1 1.5 1.0 0.5 12345678901234567890 1e+300 None False [1, 2.0, 'x'] {'b': 1, 'a': [True]} {'10': 1, '9': 2, 3: 'int key', None: 0} {'k': 1}",
    )
  })

  it('refuses arguments that are not plain data, but only when they are used', () => {
    for (const bad of [
      () => 1,
      Symbol('s'),
      new Date(0),
      /x/,
      new (class Thing {
        a = 1
      })(),
      { deep: [() => 1] },
    ]) {
      assert.match(
        faultOf(() => render('{{ bad }}', { bad })).message,
        /argument 'bad' holds .* not plain data/,
      )
      assert.equal(render('ok', { bad }), 'ok')
    }
    const circle: unknown[] = []
    circle.push(circle)
    assert.match(faultOf(() => render('{{ circle }}', { circle })).message, /nests deeper than 200 levels/)
  })

  it('lets an argument hide a built-in function of its name', () => {
    assert.equal(render('{{ range }}', { range: 'near' }), 'near')
    assert.equal(render('{{ range(3)|list }}'), '[0, 1, 2]')
  })
})

describe('an error', () => {
  it('says template, line and column, and shows the place', () => {
    const { message, data } = faultOf(() =>
      compile('Hello\n  {{ user.nmae.first }}', { name: 'greeting' }).render({ user: {} }),
    )
    assert.equal(
      message,
      "greeting:2:15: 'dict object' has no attribute 'nmae'\n    {{ user.nmae.first }}\n                ^",
    )
    assert.deepEqual(data, { name: 'greeting', line: 2, column: 15, kind: 'UndefinedError' })
  })

  it('in the syntax is found when compiling', () => {
    const places: [string, number, number, RegExp][] = [
      [
        'a\n{% if x %}\nb',
        3,
        2,
        /Unexpected end of template.*'elif' or 'else' or 'endif'.*innermost block.*'if'/,
      ],
      ['{{ 1 +* 2 }}', 1, 7, /unexpected '\*'/],
      ['line\n {{ (1 }}', 2, 8, /unexpected '}', expected '\)'/],
      ['{{ x|nope }}', 1, 6, /No filter named 'nope'/],
      ['{{ x is nope }}', 1, 6, /No test named 'nope'/],
      ['{% for x in y %}{% endif %}', 1, 20, /unknown tag 'endif'/],
      ['{{ "open }}', 1, 4, /unexpected char '"'/],
      ['a {# b', 1, 3, /Missing end of comment tag/],
      ['{% block a %}{% endblock %}\n{% block a %}{% endblock %}', 2, 4, /block 'a' defined twice/],
      ['{% set 1 = 2 %}', 1, 8, /can't assign/],
      ['{{ f(a=1, a=2) }}', 1, 11, /keyword argument repeated/],
    ]
    for (const [source, line, column, message] of places) {
      const fault = faultOf(() => compile(source))
      assert.match(fault.message, message, source)
      assert.deepEqual([fault.data.line, fault.data.column], [line, column], `${source}: ${fault.message}`)
    }
  })

  it('in an included template names that template', () => {
    const part = compile('one\n{{ 1 / n }}', { name: 'part' })
    const main = compile('{% include "part" %}', { name: 'main', loader: () => part })
    assert.deepEqual(faultOf(() => main.render({ n: 0 })).data, {
      name: 'part',
      line: 2,
      column: 6,
      kind: 'ZeroDivisionError',
    })
  })

  it('on a very long line shows the part around the place', () => {
    const { message } = faultOf(() => render(`${'x'.repeat(5_000)}{{ none.a.b }}${'y'.repeat(5_000)}`))
    const [, excerpt, caret] = message.split('\n')
    assert.ok(excerpt!.length < 90)
    assert.equal(excerpt![caret!.indexOf('^')], '.')
  })
})

describe('a limit', () => {
  it('on steps ends a loop of three million rounds, and says where', () => {
    const source =
      '{% for a in range(3000) %}\n{% for b in range(1000) %}{% set x = a * b %}{% endfor %}{% endfor %}'
    const { message, data } = faultOf(() => render(source, {}, { steps: 100_000 }))
    assert.match(message, /needs more than 100000 steps/)
    assert.equal(data.kind, 'LimitError')
    assert.equal(data.line, 2)
  })

  it('on output counts bytes, not characters', () => {
    assert.equal(render('{{ "é" * 50 }}', {}, { outputBytes: 100 }).length, 50)
    assert.match(
      faultOf(() => render('{{ "é" * 51 }}', {}, { outputBytes: 100 })).message,
      /longer than 100 bytes/,
    )
    assert.match(
      faultOf(() => render('{{ "a" * 101 }}', {}, { outputBytes: 100 })).message,
      /longer than 100/,
    )
    assert.match(
      faultOf(() => render('{% for x in range(99) %}ab{% endfor %}', {}, { outputBytes: 100 })).message,
      /longer than 100 bytes/,
    )
  })

  it('on depth ends recursion', () => {
    const source = '{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}x{% endmacro %}{{ m(n) }}'
    assert.equal(render(source, { n: 9 }, { depth: 10 }), 'x'.repeat(10))
    assert.equal(faultOf(() => render(source, { n: 10 }, { depth: 10 })).data.kind, 'RecursionError')
    assert.equal(render(source, { n: 150 }).length, 151)
  })

  it('on collections bounds lists, dicts and what they are made into', () => {
    for (const source of [
      '{{ [0] * 11 }}',
      '{{ range(11)|list }}',
      '{% set l = [] %}{% for i in range(11) %}{% set _ = l.append(i) %}{% endfor %}',
      '{{ "a,".split(",") * 6 }}',
      '{{ dict.fromkeys(range(11)) }}',
    ]) {
      assert.match(faultOf(() => render(source, {}, { collection: 10 })).message, /larger than 10/, source)
    }
  })

  it('on time is measured with the clock it is given', () => {
    let now = 0
    const clock: Clock = { now: () => (now += 10) }
    const template = compile('{% for i in range(100000) %}{% for j in range(10) %}{% endfor %}{% endfor %}')
    assert.match(
      faultOf(() => template.render({}, { milliseconds: 100 }, clock)).message,
      /longer than 100 ms/,
    )
    assert.ok(now < 300)
  })
})

describe('the names of a template', () => {
  const cases: [string, string[]][] = [
    ['{{ a }} {{ b.c }} {{ d["e"] }}', ['a', 'b', 'd']],
    ['{% if a %}{{ b }}{% elif c %}{{ d }}{% else %}{{ e }}{% endif %}', ['a', 'b', 'c', 'd', 'e']],
    [
      '{% for x in xs if x > low %}{{ x }}{{ loop.index }}{{ y }}{% else %}{{ z }}{% endfor %}',
      ['low', 'xs', 'y', 'z'],
    ],
    ['{% for x in xs %}{% endfor %}{{ x }}', ['x', 'xs']],
    ['{% set a = b %}{{ a }}', ['b']],
    ['{{ a }}{% set a = 1 %}', ['a']],
    ['{% set a = a + 1 %}', ['a']],
    ['{% if c %}{% set a = 1 %}{% endif %}{{ a }}', ['a', 'c']],
    ['{% if c %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}', ['c']],
    [
      '{% macro m(p, q=r) %}{{ p }}{{ q }}{{ s }}{{ varargs }}{{ kwargs }}{{ caller() }}{% endmacro %}{{ m(t) }}',
      ['r', 's', 't'],
    ],
    ['{% call(x) m(y) %}{{ x }}{{ z }}{% endcall %}', ['m', 'y', 'z']],
    ['{% with a = b %}{{ a }}{{ c }}{% endwith %}{{ a }}', ['a', 'b', 'c']],
    ['{% set x %}{{ y }}{% endset %}{{ x }}', ['y']],
    ['{% filter replace(a, b) %}{{ c }}{% endfilter %}', ['a', 'b', 'c']],
    ['{{ range(n) }}{{ namespace() }}{{ dict() }}{{ cycler(1) }}{{ joiner() }}{{ lipsum() }}', ['n']],
    ['{% set ns = namespace(a=b) %}{% set ns.c = d %}{{ ns.e }}', ['b', 'd']],
    ['{% block a %}{{ x }}{{ super() }}{{ self.a() }}{% endblock %}', ['x']],
    ['{% set x = 1 %}{% block a %}{{ x }}{{ y }}{% endblock %}', ['y']],
    ['{% include p %}{% import q as r %}{% from s import t %}{{ r }}{{ t }}', ['p', 'q', 's']],
    [
      '{{ a|default(b) }}{{ c is divisibleby d }}{{ e[f:g] }}{{ h(i, j=k, *l, **m) }}',
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'k', 'l', 'm'],
    ],
    ['{% raw %}{{ a }}{% endraw %}{# {{ b }} #}', []],
    ['{{ true }}{{ None }}{{ "x" }}', []],
  ]
  for (const [source, names] of cases) {
    it(`are ${names.join(', ') || 'none'} in ${source}`, () => {
      assert.deepEqual([...compile(source).names].sort(), names)
    })
  }
})

describe('other templates', () => {
  it('cannot be reached without a loader', () => {
    for (const source of [
      '{% include "a" %}',
      '{% include "a" ignore missing %}',
      '{% import "a" as a %}',
      '{% from "a" import b %}',
      '{% extends "a" %}',
    ]) {
      assert.match(faultOf(() => render(source)).message, /no loader/)
    }
  })

  it('are asked for by name only when they are reached', () => {
    const asked: string[] = []
    const part = compile('[{{ x }}]')
    const loader = (name: string): typeof part | undefined => {
      asked.push(name)
      return name === 'part' ? part : undefined
    }
    const template = compile('{% if x %}{% include name %}{% endif %}{% include "none" ignore missing %}', {
      loader,
    })
    assert.deepEqual(asked, [])
    assert.equal(template.render({ x: 1, name: 'part' }), '[1]')
    assert.deepEqual(asked, ['part', 'none'])
    assert.match(faultOf(() => template.render({ x: 1, name: 'other' })).message, /template not found: other/)
  })
})
