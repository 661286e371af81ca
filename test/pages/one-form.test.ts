/** The one form is the only one: what people fill in is drawn by `forms.njk`, but where security asks for something else. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const pages = join(import.meta.dirname, '../../src/pages')
const folders = [join(pages, 'views'), join(import.meta.dirname, '../../packages/ui/src/views')]

/** The views that may have inputs of their own, with how many; the numbers only ever fall. `src/pages/README.md` says why. */
const own: Readonly<Record<string, number>> = {
  'sign-in.njk': 2,
  'second-step.njk': 1,
  'second-factor.njk': 2,
  'choose-password.njk': 3,
  'consent.njk': 1,
  // No form: the button of the menu on a phone, which needs no script.
  'layout.njk': 1,
}

/** Returns the inputs of a text that somebody can see. */
function inputsIn(text: string): string[] {
  return (text.match(/<(input|select|textarea)\b[^>]*/g) ?? []).filter((one) => !/type="hidden"/.test(one))
}

describe('the one form', () => {
  const texts = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.njk') && name !== 'forms.njk')
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const),
  )

  it('draws every input of every view but those of signing in and consent', () => {
    assert.ok(texts.length > 30)
    const found = texts.map(([name, text]) => [name, inputsIn(text).length] as const)
    assert.deepEqual(Object.fromEntries(found.filter(([, count]) => count > 0)), own)
  })

  it('has a reason for each exception in the README of the pages', () => {
    const readme = readFileSync(join(pages, 'README.md'), 'utf8')
    for (const name of Object.keys(own)) assert.ok(readme.includes(`\`${name}\``), name)
  })

  it('is written in no page outside of the views', () => {
    const sources = readdirSync(pages, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    )
    const wrong = sources.filter((name) => inputsIn(readFileSync(join(pages, name), 'utf8')).length > 0)
    assert.deepEqual(wrong, [])
  })
})
