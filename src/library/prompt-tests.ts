/** Running the tests that template files hold (`tests:`), and telling how they went. */
import { AppError, messageOf } from '../core/errors.ts'
import { unifiedDiff } from './diff.ts'
import { valuesFor, type PromptTest, type ReadTemplate } from './template-file.ts'

/** How one test of one template went. */
export interface PromptTestResult {
  readonly prompt: string
  readonly test: string
  /** Relative to the site. */
  readonly file: string
  readonly ok: boolean
  /** What is wrong, one thing each; a wrong text as a diff. */
  readonly problems: readonly string[]
  /** What was rendered, where it was. */
  readonly text?: string
}

/** Renders a template with the arguments of a test. AppError `invalid` for what is wrong. */
type RenderTest = (read: ReadTemplate, args: PromptTest['arguments']) => Promise<string>

const renderHere: RenderTest = async (read, args) =>
  read.content.render(await valuesFor(read, args, () => Promise.resolve(true)))

/** Runs the tests of templates. Links are taken as existing: a test has no user and no documents. */
export async function runPromptTests(
  templates: Iterable<ReadTemplate>,
  render = renderHere,
): Promise<PromptTestResult[]> {
  const results: PromptTestResult[] = []
  for (const read of templates) for (const test of read.tests) results.push(await runTest(read, test, render))
  return results
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

/** Results as JUnit XML, for continuous integration. */
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

/** Files end with a line end that people do not write into `equals`. */
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
  // XML 1.0 has no way to write most control characters.
  return text
    .replace(/[&<>"]/g, (found) => escapes[found]!)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
}
