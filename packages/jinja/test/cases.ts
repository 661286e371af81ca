/** The recorded behaviour of real Jinja2, and how ours is compared with it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseLossless } from '../src/lossless-json.ts'
import { compile, TemplateError, type Template } from '../src/template.ts'

const folder = join(import.meta.dirname, 'cases')

/** One template, what it is given, and what Jinja2 made of it. */
export interface Case {
  readonly file: string
  readonly template: string
  readonly class: 'common' | 'exotic'
  readonly args: Readonly<Record<string, unknown>>
  readonly templates: Readonly<Record<string, string>> | undefined
  readonly autoescape: boolean
  readonly expect: { readonly text?: string; readonly error?: string }
}

function plain(value: unknown): Record<string, unknown> {
  return Object.fromEntries(value as Map<string, unknown>)
}

/** The arguments of cases that bring none of their own. */
export const fixture = plain(parseLossless(readFileSync(join(folder, 'fixture.json'), 'utf8')))

/** All recorded cases. */
export function readCases(): Case[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json') && file !== 'fixture.json')
  return files.flatMap((file) => {
    const list = parseLossless(readFileSync(join(folder, file), 'utf8')) as Map<string, unknown>[]
    return list.map((one) => ({
      file,
      template: one.get('template') as string,
      class: one.get('class') as Case['class'],
      args: one.has('args') ? plain(one.get('args')) : fixture,
      templates: one.has('templates') ? (plain(one.get('templates')) as Record<string, string>) : undefined,
      autoescape: one.get('autoescape') === true,
      expect: plain(one.get('expect')),
    }))
  })
}

/** What our engine makes of a template: its text, or the kind of its error. */
export function answer(one: Pick<Case, 'template' | 'args' | 'templates' | 'autoescape'>): Case['expect'] {
  const { templates, autoescape } = one
  const loader = templates && ((name: string) => loaded(templates, name, autoescape))
  try {
    return { text: compile(one.template, { loader, autoescape }).render(one.args) }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return { error: error.fault.kind }
  }
}

function loaded(
  templates: Readonly<Record<string, string>>,
  name: string,
  autoescape: boolean,
): Template | undefined {
  const source = Object.hasOwn(templates, name) ? templates[name] : undefined
  const loader = (other: string): Template | undefined => loaded(templates, other, autoescape)
  return source === undefined ? undefined : compile(source, { name, loader, autoescape })
}

/** Equal text, or both an error: the kinds and words of errors are not compared. */
export function agrees(ours: Case['expect'], theirs: Case['expect']): boolean {
  return theirs.error === undefined ? ours.text === theirs.text : ours.error !== undefined
}
