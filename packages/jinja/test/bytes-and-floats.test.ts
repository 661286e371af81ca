/** What Jinja2 3.1.6 prints of bytes in several encodings, and of floats by their bits. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compile, TemplateError } from '../src/template.ts'

function printed(source: string): string {
  return compile(source).render({})
}

describe('bytes and floats', () => {
  for (const [source, expected] of [
    ["{{ 'é'.encode('latin-1') }}", "b'\\xe9'"],
    ["{{ 'é'.encode('ISO_8859_1')|length }}", '1'],
    ["{{ 'é'.encode() }}", "b'\\xc3\\xa9'"],
    ["{{ 'aé'.encode('ascii', 'ignore') }}", "b'a'"],
    ["{{ 'aé'.encode('ascii', errors='replace') }}", "b'a?'"],
    ["{{ '€'.encode('latin1', 'xmlcharrefreplace') }}", "b'&#8364;'"],
    ["{{ 'é'.encode('latin-1').decode('latin-1') }}", 'é'],
    [
      '{{ 1.5.hex() }} {{ (0.1).hex() }} {{ (-0.0).hex() }}',
      '0x1.8000000000000p+0 0x1.999999999999ap-4 -0x0.0p+0',
    ],
    ['{{ (5e-324).hex() }}', '0x0.0000000000001p-1022'],
    ['{{ (0.1).as_integer_ratio() }}', '(3602879701896397, 36028797018963968)'],
    ['{{ -0.0 }} {{ 0.0 * -1 }} {{ (-0.4)|round }} {{ [-0.0] }}', '-0.0 -0.0 -0.0 [-0.0]'],
  ] as const)
    it(`print ${source} as ${expected}`, () => assert.equal(printed(source), expected))

  for (const [source, message] of [
    [
      "{{ 'a€'.encode('latin-1') }}",
      /'latin-1' codec can't encode character '\\u20ac' in position 1: ordinal not in range\(256\)/,
    ],
    ["{{ 'é'.encode('utf-16') }}", /unknown encoding: utf-16/],
    ["{{ 'é'.encode('latin-1').decode() }}", /'utf-8' codec can't decode/],
    ['{{ (-8) ** (1/3) }}', /complex, which is not supported/],
  ] as const)
    it(`say why ${source} cannot be printed`, () =>
      assert.throws(
        () => printed(source),
        (error) => error instanceof TemplateError && message.test(error.message),
      ))
})
