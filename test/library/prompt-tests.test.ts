import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { junitReport, runPromptTests } from '../../src/library/prompt-tests.ts'
import { check, openWith, template } from './library-site.ts'

const tested = template(
  `arguments:
  - { argument_name: name, is_required: 1 }
  - { argument_name: who, argument_type: link, doctype: Customer }
tests:
  - name: greets
    arguments: { name: Ann, who: ACME }
    contains: [Hello Ann, ACME]
    not_contains: Bob
    equals: |
      Hello Ann
      of ACME
  - arguments: {}
    error: 'name: is required'
  - name: wrong text
    arguments: { name: <Bob> & "co" }
    contains: [Ann]
    not_contains: Bob
    equals: Hello Bob
  - name: no error
    arguments: { name: Ann }
    error: is required
  - name: an error
    arguments: { nam: Ann }
    contains: Hello`,
  'Hello {{ name }}\nof {{ who }}',
)

describe('tests in template files', () => {
  it('tell what holds and what does not, with a diff', async (t) => {
    const { library } = await openWith(t, { 'prompts/x.md': tested })
    const results = await runPromptTests(library.site.reading.templates.values())
    assert.deepEqual(
      results.map(({ prompt, test, ok }) => [prompt, test, ok]),
      [
        ['x', 'greets', true],
        ['x', 'test 2', true],
        ['x', 'wrong text', false],
        ['x', 'no error', false],
        ['x', 'an error', false],
      ],
    )
    assert.deepEqual(results[2]!.problems, [
      'does not contain "Ann"',
      'contains "Bob" (line 1)',
      'is not the expected text:\n--- expected\n+++ rendered\n@@ -1,1 +1,2 @@\n-Hello Bob\n+Hello <Bob> & "co"\n+of ',
    ])
    assert.deepEqual(results[3]!.problems, ['was rendered, but should fail with "is required"'])
    assert.match(results[4]!.problems[0]!, /^failed: x: name: is required; nam: is not an argument/)
  })

  it('are reported as JUnit XML', async (t) => {
    const { library } = await openWith(t, { 'prompts/x.md': tested })
    const report = junitReport(await runPromptTests(library.site.reading.templates.values()))
    assert.match(report, /<testsuite name="prompts" tests="5" failures="3">/)
    assert.match(report, /<testcase classname="x" name="greets" file="prompts\/x\.md"\/>/)
    assert.match(
      report,
      /<failure message="does not contain &quot;Ann&quot;">[\s\S]*\+Hello &lt;Bob&gt; &amp; &quot;co&quot;/,
    )
  })

  it('are checked like the rest of the file', async (t) => {
    const { faults } = await check(t, { 'prompts/x.md': template('tests:\n  - contain: a\n  - equals: 3') })
    assert.deepEqual(
      faults.map((fault) => fault.replace(/^.*\.md:/, '')),
      [
        '6:5 tests[0].contain: unknown key; did you mean "contains"?',
        '7:13 tests[1].equals: must be string, not number',
      ],
    )
  })
})
