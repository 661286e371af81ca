/** Runs the tests that template files hold (`tests:`), and reports the results. */
import { systemClock } from '#leaf/clock.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import { Slice } from '#leaf/slices.ts'
import { fileDigest } from '#site/reading.ts'
import { fileFault, type Fault } from '#site/site-files.ts'
import type { FoundFaults } from '../check-library.ts'
import { unifiedDiff } from '#leaf/diff.ts'
import { valuesFor, type PromptTest, type ReadTemplate } from './template-file.ts'

/** The result of one test of one template. */
export interface PromptTestResult {
  readonly prompt: string
  readonly test: string
  /** Relative to the site. */
  readonly file: string
  readonly ok: boolean
  /** The problems, one thing each; a wrong text as a diff. */
  readonly problems: readonly string[]
  /** The rendered text, if it was rendered. */
  readonly text?: string
}

/** Renders a template with the arguments of a test. AppError `invalid` for mistakes. */
type RenderTest = (read: ReadTemplate, args: PromptTest['arguments']) => Promise<string>

/** Renders a template for nobody: linked documents are taken as existing. */
export const renderAlone: RenderTest = async (read, args) =>
  read.content.render(await valuesFor(read, args, () => Promise.resolve(true), systemClock.now()))

/** Runs the tests of templates. Linked documents are taken as existing: a test has no user and no documents. */
export async function runPromptTests(
  templates: Iterable<ReadTemplate>,
  render = renderAlone,
  slice = new Slice(),
): Promise<PromptTestResult[]> {
  const results: PromptTestResult[] = []
  for (const read of templates) {
    for (const test of read.tests) {
      await slice.rest()
      results.push(await runTest(read, test, render))
    }
  }
  return results
}

/** The number of files whose results are remembered, whoever reads them next. */
const mostRemembered = 20_000
const mostShown = 2_000

type Results = readonly Omit<PromptTestResult, 'text'>[]
const resultsOfReads = new WeakMap<ReadTemplate, Results>()
const resultsOfFiles = new Map<string, Results>()

/** Returns the results of a template's tests. They run once for the bytes of its file, however often it is read. */
export async function testResults(read: ReadTemplate, slice?: Slice): Promise<Results> {
  if (read.tests.length === 0) return []
  const known = resultsOfReads.get(read)
  if (known) return known
  const digest = `${read.template.file} ${fileDigest(read.document.bytes)}`
  const results = resultsOfFiles.get(digest) ?? (await resultsNow(read, slice))
  resultsOfFiles.set(digest, results)
  if (resultsOfFiles.size > mostRemembered) resultsOfFiles.delete(resultsOfFiles.keys().next().value!)
  resultsOfReads.set(read, results)
  return results
}

async function resultsNow(read: ReadTemplate, slice?: Slice): Promise<Results> {
  let results = await runPromptTests([read], renderAlone, slice)
  // The test runs again, because it measures time: a machine that stood still for a moment is no fault of the template.
  for (let again = 0; again < 2 && !results.every(({ ok }) => ok); again++)
    results = await runPromptTests([read], renderAlone, slice)
  return results.map(({ text: _text, problems, ...result }) => ({
    ...result,
    problems: problems.map((problem) => problem.slice(0, mostShown)),
  }))
}

/** Returns failed tests as faults of the template's file: the first line of each, since differences may be long. */
export function testFaults({ document }: ReadTemplate, results: Results): Fault[] {
  return results.flatMap(({ ok, test, problems }, index) => {
    const message = `${test}: ${problems.map((problem) => problem.split('\n', 1)[0]!.replace(/:$/, '')).join('; ')}`
    return ok ? [] : [{ ...document.fault(['tests', index], message), isTest: true as const }]
  })
}

/** True when a template must pass its tests; one that is not Published, which nobody is offered, only gets a warning. */
export function mustPass({ template }: ReadTemplate): boolean {
  return template.status === 'Published'
}

/**
 * Reports failed tests of templates: a fault of the site where they must pass, otherwise a warning. Tests that did
 * not run within the time are counted in a warning, and run at the next reading.
 */
export async function checkTests(
  templates: Iterable<ReadTemplate>,
  { faults, warnings }: FoundFaults,
  milliseconds: number,
): Promise<void> {
  const end = performance.now() + milliseconds
  const slice = new Slice()
  let left = 0
  for (const read of templates) {
    if (performance.now() >= end && !resultsOfReads.has(read)) left += Math.min(1, read.tests.length)
    else (mustPass(read) ? faults : warnings).push(...testFaults(read, await testResults(read, slice)))
  }
  const message = `the tests of ${left} prompts are not run yet, because others take too long; "prompts test" runs all`
  if (left > 0) warnings.push(fileFault('prompts', message))
}

async function runTest(read: ReadTemplate, test: PromptTest, render: RenderTest): Promise<PromptTestResult> {
  const { id, file } = read.template
  const result = { prompt: id, test: test.name, file }
  let text: string
  try {
    text = await render(read, test.arguments)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const problems = errorProblems(test, messageOf(error))
    return { ...result, ok: problems.length === 0, problems }
  }
  const problems = textProblems(test, text)
  return { ...result, ok: problems.length === 0, problems, text }
}

function errorProblems(test: PromptTest, message: string): string[] {
  if (test.error === undefined) return [`failed: ${message}`]
  return message.includes(test.error) ? [] : [`the error does not contain ${quoted(test.error)}: ${message}`]
}

function textProblems(test: PromptTest, text: string): string[] {
  if (test.error !== undefined) return [`was rendered, but should fail with ${quoted(test.error)}`]
  return [
    ...test.contains.filter((part) => !text.includes(part)).map((part) => `does not contain ${quoted(part)}`),
    ...test.notContains
      .filter((part) => text.includes(part))
      .map((part) => `contains ${quoted(part)}${lineOf(text, part)}`),
    ...(test.equals === undefined || sameText(test.equals, text)
      ? []
      : [
          `is not the expected text:\n${unifiedDiff(ended(test.equals), ended(text), 'expected', 'rendered')}`,
        ]),
  ]
}

/** Returns results as JUnit XML, for continuous integration. */
export function junitReport(results: readonly PromptTestResult[]): string {
  const failed = results.filter((result) => !result.ok).length
  const cases = results.map(({ prompt, test, file, problems }) => {
    const head = `  <testcase classname="${xml(prompt)}" name="${xml(test)}" file="${xml(file)}"`
    if (problems.length === 0) return `${head}/>`
    return `${head}>\n    <failure message="${xml(problems[0]!.split('\n')[0]!)}">${xml(problems.join('\n'))}</failure>\n  </testcase>`
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="prompts" tests="${results.length}" failures="${failed}">`,
    ...cases,
    '</testsuite>',
    '',
  ].join('\n')
}

/** Compares texts without the line end at the end of a file, which people do not write into `equals`. */
function sameText(expected: string, text: string): boolean {
  return expected === text || expected.replace(/\n$/, '') === text.replace(/\n$/, '')
}

function ended(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}

function lineOf(text: string, part: string): string {
  return ` (line ${text.slice(0, text.indexOf(part)).split('\n').length})`
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 199)}…` : text)
}

function xml(text: string): string {
  const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  // XML 1.0 cannot express most control characters.
  return text
    .replace(/[&<>"]/g, (found) => escapes[found]!)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
}
