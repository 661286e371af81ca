/** The three rendering engines of specification §4.5 (prompts rule 3) behind one compiled content. */
import { AppError } from '../core/errors.ts'
import { defaultLimits } from '#jinja/limits.ts'
import { compile, TemplateError, type Template } from '#jinja/template.ts'
import { parseFormatString } from './format-string.ts'
import type { RenderingEngine } from './words.ts'

/** A template's content, read once at load. */
export interface CompiledContent {
  /** The names that it asks for from outside. */
  readonly names: ReadonlySet<string>
  /** AppError `invalid` for what goes wrong while rendering. */
  render(values: Readonly<Record<string, unknown>>): string
}

/** Tells a mistake in the content: line and column of the content, counted from 1. */
export type ContentFault = (message: string, line?: number, column?: number) => void

/** How long a template of the site may render: the daemon does nothing else meanwhile. */
const siteMilliseconds = 50

/** Reads content for its engine; mistakes are told, and then the result must not be rendered. */
export function compileContent(
  engine: RenderingEngine,
  source: string,
  fault: ContentFault,
  milliseconds = siteMilliseconds,
): CompiledContent {
  if (engine === 'Jinja2') return jinja(source, fault, milliseconds)
  if (engine === 'Format String') return formatString(source, fault)
  return { names: new Set(), render: () => source }
}

const name = 'template_content'

function jinja(source: string, fault: ContentFault, milliseconds: number): CompiledContent {
  try {
    const template = compile(source, { name })
    return { names: template.names, render: (values) => rendered(template, values, milliseconds) }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    const { line, column } = error.fault
    fault(plain(error.cause instanceof Error ? error.cause.message : error.message), line, column)
    return nothing
  }
}

function rendered(
  template: Template,
  values: Readonly<Record<string, unknown>>,
  milliseconds = siteMilliseconds,
): string {
  try {
    return template.render(values, { milliseconds })
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw new AppError('invalid', error.message, { data: error.fault, cause: error.cause })
  }
}

/** Jinja2's own words, written as our faults are. */
function plain(message: string): string {
  return `${message.charAt(0).toLowerCase()}${message.slice(1).replace(/\.$/, '')}`
}

const nothing: CompiledContent = { names: new Set(), render: () => '' }

/** How Jinja2 prints a value, so that `{flag}` and `{{ flag }}` show the same. */
const printed = compile('{{ value }}')

function formatString(source: string, fault: ContentFault): CompiledContent {
  const { parts, names, faults } = parseFormatString(source)
  for (const { message, offset } of faults) {
    const before = source.slice(0, offset).split('\n')
    fault(message, before.length, before.at(-1)!.length + 1)
  }
  return {
    names,
    render: (values) => {
      let text = ''
      const texts = new Map<string, string>()
      for (const part of parts) {
        if ('text' in part) text += part.text
        else {
          // Its own values only: `{__proto__}` is nobody's argument.
          const value = Object.hasOwn(values, part.name) ? values[part.name] : undefined
          const known = texts.get(part.name) ?? rendered(printed, { value: value ?? '' })
          texts.set(part.name, known)
          text += known
        }
        // A long value in many places: the same bound as for Jinja2.
        if (text.length > defaultLimits.outputBytes)
          throw new AppError(
            'invalid',
            `${name}: the output is longer than ${defaultLimits.outputBytes} bytes`,
          )
      }
      return text
    },
  }
}
