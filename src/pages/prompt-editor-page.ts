/** Writing prompts: a text, tried and checked as it stands, then saved where the person chose. */
import { AppError } from '../core/errors.ts'
import { paths } from '../oauth/urls.ts'
import type { Fault } from '../site/site-files.ts'
import { principalAt } from './desk-endpoint.ts'
import type { Deed, OwnPage, Visit } from './own-page.ts'
import { askedAgain, changed, givenIn, idOf, noteIn, type PromptPageDeps } from './prompt-page.ts'
import type { BegunSketch, Sketch } from './prompt-sketches.ts'

/** A text is carried in the form; longer ones are edited as files. */
const mostCharacters = 24_000
/** A character of three bytes is nine in a form. */
const largestForm = 400_000
const linesAround = 2

/** The page on which a prompt is edited. */
export function promptEditorPage(deps: PromptPageDeps): OwnPage {
  return editor(deps, `${paths.prompts}/:id/edit`, idOf)
}

/** The page on which one is begun. */
export function newPromptPage(deps: PromptPageDeps): OwnPage {
  return editor(deps, paths.newPrompt, () => undefined)
}

function editor(
  deps: PromptPageDeps,
  path: string,
  idOfVisit: (visit: Visit) => string | undefined,
): OwnPage {
  const { prompts } = deps
  const sketchOf = (visit: Visit): BegunSketch => {
    const begun = prompts.begin(principalAt(visit, deps), idOfVisit(visit), lineOf(visit))
    const { form } = visit
    if (!form) return begun
    const text = (form.get('text') ?? '').replaceAll('\r\n', '\n')
    if (text.length > mostCharacters) throw tooLong()
    const id = begun.isNew ? (form.get('prompt') ?? '').trim() : begun.id
    return { ...begun, id, text, began: form.get('began') ?? '' }
  }
  return {
    path,
    view: 'prompt-editor',
    largest: largestForm,
    show: async (visit) => {
      const sketch = sketchOf(visit)
      if (sketch.text.length > mostCharacters) throw tooLong()
      const { present, digest, faults } = detailOf(visit)
      return {
        sketch: { ...sketch, began: digest ?? sketch.began },
        note: visit.form?.get('note') ?? '',
        asked: askedAgain(prompts.asks(sketch) ?? [], visit),
        conflict:
          present === undefined
            ? undefined
            : { present: cut(present), difference: cut(prompts.difference(present, sketch.text)) },
        faults: placed(faults ?? [], sketch),
      }
    },
    deeds: deedsOf(deps, sketchOf),
  }
}

/** Trying, checking and saving what stands in the form. */
function deedsOf(
  deps: PromptPageDeps,
  sketchOf: (visit: Visit) => BegunSketch,
): Readonly<Record<string, Deed>> {
  const { prompts } = deps
  return {
    preview: {
      run: async (visit, form) => {
        const sketch = sketchOf(visit)
        const given = givenIn(form, prompts.asks(sketch) ?? [])
        return { once: { preview: await prompts.previewSketch(principalAt(visit, deps), sketch, given) } }
      },
    },
    check: {
      run: async (visit) => {
        const sketch = sketchOf(visit)
        const { faults, warnings, tests } = await prompts.check(principalAt(visit, deps), sketch)
        return {
          once: {
            checked: true,
            faults: placed(faults, sketch),
            warnings: placed(warnings, sketch),
            tests,
          },
        }
      },
    },
    save: {
      run: async (visit, form) => {
        const { began, ...sketch } = sketchOf(visit)
        return changed(visit, deps, { kind: 'save', sketch, began, note: noteIn(form) })
      },
    },
  }
}

/** The line of the library that the form or the address names. */
function lineOf({ ctx, form }: Visit): string | undefined {
  const asked = form ? form.get('line') : (new URLSearchParams(ctx.querystring).get('line') ?? undefined)
  return asked === '' ? undefined : asked
}

function detailOf({ detail }: Visit): {
  readonly present?: string
  readonly digest?: string
  readonly faults?: readonly Fault[]
} {
  return typeof detail === 'object' && detail !== null ? detail : {}
}

/** Faults with the lines of the text around them; those of other files stand by themselves. */
function placed(faults: readonly Fault[], { text }: Sketch): object[] {
  const lines = text.split('\n')
  return faults.slice(0, 20).map((fault) => {
    const first = Math.max(1, fault.line - linesAround)
    const around = lines.slice(first - 1, fault.line + linesAround).map((line, index) => ({
      number: first + index,
      text: line.slice(0, 200),
      isMeant: first + index === fault.line,
    }))
    return { ...fault, around }
  })
}

/** A page shows so much of a text; all of it is where it came from. */
function cut(text: string): string {
  return text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters)}…`
}

function tooLong(): AppError {
  return new AppError(
    'invalid',
    `a prompt of more than ${mostCharacters} characters is edited as a file, not on this page`,
  )
}
