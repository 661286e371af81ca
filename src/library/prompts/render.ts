/** Compiles content for one of the three rendering engines of specification §4.5 (prompts rule 3). */
import { clockOfThread } from '#leaf/clock.ts'
import { type Place, placeIn } from '#leaf/places.ts'
import { AppError } from '#leaf/errors.ts'
import { defaultLimits } from '#jinja/limits.ts'
import { compile, TemplateError, type Template } from '#jinja/template.ts'
import { parseFormatString } from './format-string.ts'
import type { RenderingEngine } from '../words.ts'

/** A template's content, compiled once at load. */
export interface CompiledContent {
  /** The variables that it uses. */
  readonly names: ReadonlySet<string>
  /** Renders the content. AppError `invalid` for errors while rendering. */
  render(values: Readonly<Record<string, unknown>>): string
}

/** Reports a mistake, and its place in the content. */
export type ContentFault = (message: string, place: Place) => void

/** Milliseconds of the processor that a template of the site may take: the daemon does nothing else meanwhile. */
const siteMilliseconds = 50

/** Compiles content for its engine; mistakes are reported, and then the result must not be rendered. */
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
    fault(plain(error.cause instanceof Error ? error.cause.message : error.message), error.fault)
    return nothing
  }
}

/** Templates have a time of the processor: on a busy machine none fails that is well elsewhere. */
const ownTime = clockOfThread()

function rendered(
  template: Template,
  values: Readonly<Record<string, unknown>>,
  milliseconds = siteMilliseconds,
): string {
  try {
    return template.render(values, { milliseconds }, ownTime)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw new AppError('invalid', error.message, { data: error.fault, cause: error.cause })
  }
}

/** Rewrites Jinja2's own message in the style of our faults. */
function plain(message: string): string {
  return `${message.charAt(0).toLowerCase()}${message.slice(1).replace(/\.$/, '')}`
}

const nothing: CompiledContent = { names: new Set(), render: () => '' }

/** A template that prints a value as Jinja2 does, so that `{flag}` and `{{ flag }}` show the same. */
const printed = compile('{{ value }}')

function formatString(source: string, fault: ContentFault): CompiledContent {
  const { parts, names, faults } = parseFormatString(source)
  for (const { message, offset } of faults) fault(message, placeIn(source, offset))
  return {
    names,
    render: (values) => {
      let text = ''
      const texts = new Map<string, string>()
      for (const part of parts) {
        if ('text' in part) text += part.text
        else {
          // Only own properties are read: `{__proto__}` is no argument.
          const value = Object.hasOwn(values, part.name) ? values[part.name] : undefined
          const known = texts.get(part.name) ?? rendered(printed, { value: value ?? '' })
          texts.set(part.name, known)
          text += known
        }
        // The same bound as for Jinja2, since a long value may stand in many places.
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
