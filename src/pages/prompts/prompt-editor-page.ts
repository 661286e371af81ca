/** The editor of prompts: a text is tried and checked as it stands, then saved where the person chose. */
import { AppError } from '#leaf/errors.ts'
import type { Fault } from '#site/site-files.ts'
import { asked } from '#ui/requests.ts'
import type { Deed, OwnPage, Visit } from '../own-page.ts'
import { createPromptDesk, type PromptChange } from './prompt-desk.ts'
import {
  argumentInputs,
  argumentsIn,
  changed,
  failsTests,
  idOf,
  noteIn,
  type PromptPageDeps,
} from './prompt-page.ts'
import { type BegunSketch, type Sketch, sketchFile } from './prompt-sketches.ts'
import { promptEditor } from '../assets-endpoint.ts'
import { principalAt } from '../session-middleware.ts'
import { readerOf } from '../views.ts'
import { choiceOf } from '#ui/forms.ts'

/** The most characters of a text, which the form carries; longer texts are edited as files. */
const mostCharacters = 24_000
/** The most bytes of a form, in which a character of three bytes takes nine. */
const largestForm = 400_000

/** Makes the page that edits a prompt, and the one that begins a new one. */
export function promptEditorPage(deps: PromptPageDeps): OwnPage {
  const prompts = createPromptDesk(deps)
  const sketchOf = (visit: Visit): BegunSketch => {
    const begun = prompts.begin(principalAt(visit, deps), idOf(visit) || undefined, lineOf(visit))
    const { form } = visit
    if (!form) return begun
    const text = (form.get('text') ?? '').replaceAll('\r\n', '\n')
    if (text.length > mostCharacters) throw tooLong()
    const id = begun.isNew ? (form.get('prompt') ?? '').trim() : begun.id
    return { ...begun, id, text, began: form.get('began') ?? '' }
  }
  return {
    script: true,
    largest: largestForm,
    show: async (visit) => {
      const sketch = sketchOf(visit)
      if (sketch.text.length > mostCharacters) throw tooLong()
      const { present, digest, faults } = visit.detail ?? {}
      return {
        sketch: { ...sketch, began: digest ?? sketch.began },
        note: visit.form?.get('note') ?? '',
        line: lineInput(visit, sketch),
        asked: argumentInputs(prompts.asks(sketch) ?? [], visit),
        conflict:
          present === undefined
            ? undefined
            : { present: cut(present), difference: cut(prompts.difference(present, sketch.text)) },
        faults: placed(faults ?? [], sketch),
        failsTests: failsTests(visit),
        user: visit.user.id,
        editor: promptEditor?.address,
      }
    },
    deeds: deedsOf(deps, prompts, sketchOf),
  }
}

/** The forms that try, check and save the text in the form. */
function deedsOf(
  deps: PromptPageDeps,
  prompts: ReturnType<typeof createPromptDesk>,
  sketchOf: (visit: Visit) => BegunSketch,
): Readonly<Record<string, Deed>> {
  return {
    preview: {
      run: async (visit, form) => {
        const sketch = sketchOf(visit)
        const given = argumentsIn(visit, form, prompts.asks(sketch) ?? [])
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
        const { id, text, began, isNew, line } = sketchOf(visit)
        const [fresh, edit] = [
          { text, note: noteIn(form) },
          { text, began, note: noteIn(form) },
        ]
        const save: PromptChange = (writer, by) =>
          isNew ? writer.create(by, id, fresh, line) : writer.edit(by, id, edit, line)
        return changed(visit, deps, save, line)
      },
    },
  }
}

/** Returns the field of the lines to which a text may be saved, in words. */
function lineInput({ ctx }: Visit, { lines, line }: BegunSketch): object {
  const { text } = readerOf(ctx).messages
  const choices = lines.map(({ line: role, branch }): [string, string] => [
    role,
    branch === undefined
      ? text('prompts.the_site')
      : text('prompts.branch').replace('{branch}', branch).replace('{role}', role),
  ])
  return { key: 'line', label: text('prompts.save_to'), ...choiceOf(choices), text: line, blank: '' }
}

/** Returns the line of the library that the form or the address names. */
function lineOf({ ctx, form }: Visit): string | undefined {
  return form ? form.get('line') : asked(ctx, 'line') || undefined
}

/** Tells of faults whether they stand in the text; those of other files stand by themselves. */
function placed(faults: readonly Fault[], sketch: Sketch): object[] {
  return faults.slice(0, 20).map((fault) => ({ ...fault, isHere: fault.file === sketchFile(sketch) }))
}

/** Cuts a text to the length that a page shows; the whole is where it came from. */
function cut(text: string): string {
  return text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters)}…`
}

function tooLong(): AppError {
  return new AppError(
    'invalid',
    `a prompt of more than ${mostCharacters} characters is edited as a file, not on this page`,
  )
}
