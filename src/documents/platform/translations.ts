/** What the texts of doctypes and workflows are called in other languages. Names, by which everything is found, stay. */
import { didYouMean } from '#leaf/names.ts'
import { objectWith } from '#leaf/object-schema.ts'
import type { Fault, SourceDocument } from '#site/site-files.ts'
import type { Doctype, Platform } from './platform.ts'

/** The schema of `translations`: by language, what a text of the file is called there. */
export const translationsSchema = objectWith(
  {},
  { de: { type: 'object', additionalProperties: { type: 'string', minLength: 1 } } },
)

type Words = ReadonlyMap<string, string>
type Translations = Doctype['translations']

/** Reads the translations in a file, and warns of a text that it does not have. */
export function readTranslations(
  given: Readonly<Record<string, Readonly<Record<string, string>> | undefined>> = {},
  texts: readonly string[],
  { document, warnings }: { readonly document: SourceDocument; readonly warnings: Fault[] },
): Translations {
  return new Map(
    Object.entries(given).map(([language, words = {}]) => {
      for (const text of Object.keys(words))
        if (!texts.includes(text)) {
          const message = `nothing is called "${text}" here${didYouMean(text, texts)}`
          warnings.push(document.fault(['translations', language, text], message, 'key'))
        }
      return [language, new Map(Object.entries(words))]
    }),
  )
}

/** Joins two readings of translations. */
export function merged(one: Translations, other: Translations): Translations {
  const languages = new Set([...one.keys(), ...other.keys()])
  const none: Words = new Map()
  return new Map(
    [...languages].map((language) => [
      language,
      new Map([...(one.get(language) ?? none), ...(other.get(language) ?? none)]),
    ]),
  )
}

/** Returns a platform in each language for which it has words. */
export function translatedOf(platform: Platform): Platform['translated'] {
  const languages = new Set(
    [...platform.doctypes.values()].flatMap(({ translations }) => [...translations.keys()]),
  )
  return new Map(
    [...languages].map((language) => {
      const said = [...platform.doctypes].map(([name, doctype]): [string, Doctype] => {
        const words = doctype.translations.get(language)
        return [name, words ? inWords(doctype, words) : doctype]
      })
      return [language, { ...platform, doctypes: new Map(said) }]
    }),
  )
}

function inWords(doctype: Doctype, words: Words): Doctype {
  const say = (text: string): string => words.get(text) ?? text
  return {
    ...doctype,
    description: say(doctype.description),
    validations: doctype.validations.map(({ rule, message }) => ({ rule, message: say(message) })),
    fields: new Map(
      [...doctype.fields].map(([name, field]) => [
        name,
        { ...field, label: say(field.label), description: say(field.description), words },
      ]),
    ),
  }
}
