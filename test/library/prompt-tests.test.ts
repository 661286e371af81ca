import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  checkTests,
  junitReport,
  runPromptTests,
  testResults,
} from '../../src/library/prompts/prompt-tests.ts'
import { faultText, type Fault } from '#site/site-files.ts'
import { check, open, openWith, template, write } from './library-site.ts'

const tested = template(
  `status: Draft
arguments:
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

  it('are a fault at their own line where a Published template fails them, and of any other a warning', async (t) => {
    const failing = (status: string): string =>
      template(`status: ${status}\ntests:\n  - contains: Hello\n  - { name: is formal, equals: Esteemed }`)
    const { faults, warnings } = await check(t, {
      'prompts/a.md': failing('Published'),
      'prompts/b.md': failing('Draft'),
      'prompts/c.md': failing('Deprecated'),
      'prompts/d.md': failing('Archived'),
    })
    const told = (file: string): string => `prompts/${file}:7:5 tests[1]: is formal: is not the expected text`
    assert.deepEqual(faults, [told('a.md')])
    assert.deepEqual(warnings, [told('b.md'), told('c.md'), told('d.md')])
  })

  it('are not asked of a library that has faults anyway', async (t) => {
    const { faults } = await check(t, {
      'prompts/a.md': template('tests: [{ contains: Esteemed }]'),
      'prompts/b.md': template('category: nowhere'),
    })
    assert.deepEqual(
      faults.map((fault) => fault.split(':')[0]),
      ['prompts/b.md'],
    )
  })

  it('are run once for what a file holds, whoever reads it again', async (t) => {
    const drawn = template(
      'status: Draft\ntests: [{ equals: none }]',
      'Drawn {{ range(99999) | random }}{{ range(99999) | random }}',
    )
    const { library, world, folder } = await openWith(t, { 'prompts/x.md': drawn })
    const first = library.site.read('x')
    const results = await testResults(first)
    assert.match(results[0]!.problems[0]!, /\+Drawn \d/)
    assert.equal('text' in results[0]!, false)
    const again = (await open({ librarian: world.again() }, folder)).library.site.read('x')
    assert.notEqual(again, first)
    assert.deepEqual(await testResults(again), results)
    await write(folder, { 'prompts/x.md': drawn.replace('A title', 'Another') })
    const changed = (await open(world, folder)).library.site.read('x')
    assert.notDeepEqual(await testResults(changed), results)
  })

  it('of which too many are too slow are told, and run later', async (t) => {
    const { library } = await openWith(t, {
      'prompts/x.md': template('tests: [{ contains: Hello }]', 'Hello 7'),
    })
    const reads = [...library.site.reading.templates.values()].map((read) => ({ ...read }))
    const warnings: Fault[] = []
    await checkTests(reads, { faults: [], warnings }, 0)
    assert.match(warnings.map(faultText).join(), /^prompts:1:1 the tests of 1 prompts are not run yet/)
    warnings.length = 0
    await checkTests(reads, { faults: [], warnings }, Infinity)
    await checkTests(reads, { faults: [], warnings }, 0)
    assert.deepEqual(warnings, [])
  })

  it('let others have their turn while they run', async (t) => {
    const slow = '{% for i in range(8000) %}{{ i }}{% endfor %}'
    const tests = 'status: Draft\ntests:\n' + '  - contains: "1"\n'.repeat(300)
    const { library } = await openWith(t, { 'prompts/x.md': template(tests, slow) })
    let [turns, isOver] = [-1, false]
    const count = (): void => {
      turns++
      if (!isOver) setImmediate(count)
    }
    count()
    await runPromptTests(library.site.reading.templates.values())
    isOver = true
    assert.ok(turns > 0, `${turns} turns`)
  })
})
