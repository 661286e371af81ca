import { openTableRows } from '../../documents/reports/tables.ts'
import { columnOf } from '../../analysis/permitted.ts'
import type { Python, PythonProgram, PythonResult } from '#sandbox/sandbox.ts'
import { optionalRoles } from '../gate/optional-tools.ts'
import { likeFilters } from '../gate/arguments.ts'
import { objectShape, yesNoShape } from '../output-shapes.ts'
import { defineTool, turnOf, type Content, type Tool, type ToolContext } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

const names = { type: 'array', items: { type: 'string', maxLength: 100 }, maxItems: 50 } as const

const timeoutOf = ({ usual, most }: Python['seconds']) =>
  ({ type: 'integer', minimum: 1, maximum: most, description: `Seconds; default ${usual}.` }) as const

/** Runs Python in a sandbox over the data that the caller may read. */
export function runPythonCode(python: Python): Tool {
  return defineTool({
    name: 'run_python_code',
    title: 'Run Python code',
    description: `Runs a Python ${python.versions['python'] ?? '3'} program without network or files; returns what it prints, its last expression, return_variables and matplotlib figures. ${libraries(python)} data_query gives it data (a list of dicts; money is Decimal)${python.versions['pandas'] === undefined ? '' : ' and df'}. tools.<name>(…) calls tools that read.`,
    category: 'privileged',
    computes: true,
    // A sandbox bounds a program, but is no reason for trust.
    roles: optionalRoles['run_python_code']!,
    timeout: (python.seconds.most + 20) * 1000, // Longer than a program's, which the sandbox stops and can say where.
    input: objectWith(
      { code: { type: 'string', minLength: 1, maxLength: 200_000 } },
      {
        data_query: {
          ...objectWith(
            { doctype: { type: 'string' } },
            {
              fields: { type: 'array', items: { type: 'string' }, maxItems: 100 },
              filters: likeFilters,
              limit: { type: 'integer', minimum: 1, maximum: 100_000, description: 'Default 100.' },
            },
          ),
          description: 'Documents that the program finds as data.',
        },
        timeout: timeoutOf(python.seconds),
        capture_output: { type: 'boolean', description: 'Default true.' },
        return_variables: { ...names, description: 'Variables to return as JSON.' },
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
  const installed =
    found.length > 0 ? `${found.join(' and ')} are installed.` : 'Only the standard library is installed.'
  const frame = found.includes('pandas') ? ' and df (a DataFrame)' : ''
  return `${installed} data_query gives it data (a list of dicts)${frame};`
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
  // Requested variables come before output that was only printed.
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
  TimeoutError: 'do less, or raise timeout',
  MemoryError: 'work on fewer rows or columns at a time',
  RecursionError: 'use a loop instead of recursion',
  NameError:
    'a program has what it defines and imports, tools, and with data_query also data (and df); it remembers nothing of earlier calls',
  SyntaxError: 'code is one Python program, with its line ends and indents',
  KeyError: 'print(list(data[0])) shows the columns of data_query',
  PermissionError:
    'programs cannot start other programs, reach files of this machine, or change system settings',
  FileNotFoundError: 'no file of this machine is there; data_query and tools.<name>(…) bring documents',
  ModuleNotFoundError:
    'only the standard library and the installed packages can be imported; nothing can be installed',
}

function advised(error: NonNullable<PythonResult['error']>): Readonly<Record<string, unknown>> {
  const help = advice[error.type]
  return { ...error, ...(help !== undefined && { advice: help }) }
}
