import { openTableRows } from '../documents/tables.ts'
import { columnOf } from '../analysis/permitted.ts'
import type { Python, PythonProgram, PythonResult } from '../analysis/python/python.ts'
import { optionalRoles } from './optional-tools.ts'
import { filters } from './arguments.ts'
import { objectShape, yesNoShape } from './output-shapes.ts'
import { defineTool, turnOf, type Content, type Tool, type ToolContext } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

const names = { type: 'array', items: { type: 'string', maxLength: 100 }, maxItems: 50 } as const

/** Python in a sandbox over what the caller may read. */
export function runPythonCode(python: Python): Tool {
  return defineTool({
    name: 'run_python_code',
    title: 'Run Python code',
    description: `Runs a Python ${python.versions['python'] ?? '3'} program without network and without files of this machine, and returns what it prints, the value of a last expression, return_variables and matplotlib figures. ${libraries(python)} data_query gives it data (a list of dicts) and df (a DataFrame); money is decimal.Decimal there. tools.<name>(…) calls the tools that read, as you: one program can replace many calls. For plain SQL use query_and_analyze.`,
    category: 'privileged',
    // For System Managers unless the site says otherwise: a sandbox is a bound, not a reason for trust.
    roles: optionalRoles['run_python_code']!,
    // Beyond the 300 seconds of a program, so that the sandbox stops it and can say where it was.
    timeout: 320_000,
    input: objectWith(
      { code: { type: 'string', minLength: 1, maxLength: 200_000 } },
      {
        data_query: {
          ...objectWith(
            { doctype: { type: 'string' } },
            {
              fields: { type: 'array', items: { type: 'string' }, maxItems: 100 },
              filters,
              limit: { type: 'integer', minimum: 1, maximum: 100_000, description: 'Default 100.' },
            },
          ),
          description: 'Documents that the program finds as data and df.',
        },
        timeout: { type: 'integer', minimum: 1, maximum: 300, description: 'Seconds; default 30.' },
        capture_output: { type: 'boolean', description: 'Whether to return what is printed; default true.' },
        return_variables: { ...names, description: 'Names of variables to return as JSON.' },
      },
    ),
    largeOutput: objectShape({ success: yesNoShape }),
    example: { code: 'import statistics\nstatistics.mean([1, 2, 6])' },
    async run(args, context) {
      const { code, timeout, capture_output: captureOutput, return_variables: returnVariables } = args
      const data = args.data_query && preload(args.data_query, context)
      context.progress(0, 1, 'running the program')
      const result = await python.run({
        code,
        ...(data && { data }),
        ...(returnVariables && { returnVariables }),
        ...(captureOutput !== undefined && { captureOutput }),
        ...(timeout !== undefined && { timeout: timeout * 1000 }),
        callTool: (name, args) => context.callTool(name, args),
        owner: context.principal.user,
        ...turnOf(context),
      })
      context.progress(1, 1)
      const images = result.images.map((image): Content => ({
        type: 'image',
        data: image,
        mimeType: 'image/png',
      }))
      return {
        kind: 'rich',
        data: outputOf(code, result, context),
        content: images,
        isError: result.error !== undefined,
      }
    },
  })
}

function libraries({ versions }: Python): string {
  const found = ['numpy', 'pandas'].filter((name) => versions[name] !== undefined)
  return found.length > 0
    ? `${found.join(' and ')} are installed.`
    : 'Only the standard library is installed.'
}

interface DataQuery {
  readonly doctype: string
  readonly fields?: readonly string[] | undefined
  readonly filters?: unknown
  readonly limit?: number | undefined
}

function preload(
  { doctype, fields, filters, limit = 100 }: DataQuery,
  { principal, documents }: ToolContext,
): NonNullable<PythonProgram['data']> {
  const { columns, pages } = openTableRows(documents, principal, {
    doctype,
    ...(fields && { fields }),
    ...(filters !== undefined && { filters }),
    limit,
  })
  return { columns: columns.map(columnOf), pages }
}

function outputOf(
  code: string,
  result: PythonResult,
  { budget, principal }: ToolContext,
): Readonly<Record<string, unknown>> {
  const { error, output, outputDropped, variables, problems } = result
  const rest = {
    success: error === undefined,
    ...(error && { error: advised(error) }),
    ...(result.result !== undefined && { result: result.result }),
    variables,
    ...(Object.keys(problems).length > 0 && { variable_problems: problems }),
    execution_info: {
      executed_by: principal.user,
      lines_executed: code.split('\n').length,
      variables_returned: Object.keys(variables).length,
      images_returned: result.images.length,
      tool_calls: result.toolCalls,
      execution_time_ms: Math.round(result.milliseconds * 10) / 10,
    },
  }
  // Variables that were asked for come before output that was only printed.
  const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
  if (size(rest) + 300 > budget)
    return {
      ...rest,
      success: false,
      variables: {},
      error: {
        type: 'TooLarge',
        message: `the returned variables have ${size(variables)} bytes, more than the ${budget} that an answer may have; return a summary of them`,
      },
      ...(rest.result !== undefined && { result: rest.result.slice(0, 1000) }),
      output: '',
    }
  let shown = output
  // Escapes make text longer in JSON, so its size is only known by trying.
  while (shown !== '' && size(rest) + size(shown) + 300 > budget)
    shown = shown.slice(0, Math.floor(shown.length * 0.8))
  const dropped = outputDropped + output.length - shown.length
  return {
    ...rest,
    output: shown,
    ...(dropped > 0 && { output_note: `${dropped} more characters were printed` }),
  }
}

const advice: Readonly<Record<string, string>> = {
  TimeoutError: 'do less, or raise timeout (at most 300 seconds)',
  MemoryError: 'work on fewer rows or columns at a time',
  RecursionError: 'use a loop instead of recursion',
  PermissionError:
    'programs cannot start other programs, reach files of this machine, or change system settings',
  ModuleNotFoundError:
    'only the standard library and the installed packages can be imported; nothing can be installed',
}

function advised(error: NonNullable<PythonResult['error']>): Readonly<Record<string, unknown>> {
  const help = advice[error.type]
  return { ...error, ...(help !== undefined && { advice: help }) }
}
