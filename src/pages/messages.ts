/** What the pages say, one file a language. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** The languages of the pages, each by its own name. */
export const languages = { en: 'English', de: 'Deutsch' } as const

/** One of them. */
export type Language = keyof typeof languages

/** The words of one language. */
export interface Messages {
  /** A message by its name, `{placeholders}` and all; of two forms, that for this number. A name that is unknown is a bug. */
  text(name: string, number?: unknown): string
  /** A fault as it is told elsewhere, in this language where its sentence is known. */
  fault(message: string): string
}

type Tree = { readonly [name: string]: string | Tree }

const read: Partial<Record<Language, Messages>> = {}

/** The messages of every language, each read when it is first wanted: a start has no use for them. */
export const messages: Readonly<Record<Language, Messages>> = {
  get en() {
    return (read.en ??= readMessages('en'))
  },
  get de() {
    return (read.de ??= readMessages('de'))
  },
}

/** Whether there are messages in it. */
export function isLanguage(name: unknown): name is Language {
  return typeof name === 'string' && Object.hasOwn(languages, name)
}

function readMessages(language: string): Messages {
  const file = join(import.meta.dirname, 'messages', `${language}.yaml`)
  const { faults, ...tree } = parse(readFileSync(file, 'utf8')) as Tree
  const texts = new Map(flat(tree, ''))
  const translated = new Map(Object.entries((faults ?? {}) as Record<string, string>))
  return {
    text: (name, number) => {
      const found = (number === 1 ? texts.get(`${name}_one`) : undefined) ?? texts.get(name)
      if (found === undefined) throw new Error(`no message "${name}" in ${file}`)
      return found
    },
    fault: (message) =>
      message
        .split('; ')
        .map((sentence) => translated.get(sentence) ?? sentence)
        .join('; '),
  }
}

function flat(tree: Tree, prefix: string): [string, string][] {
  return Object.entries(tree).flatMap(([name, value]) =>
    typeof value === 'string' ? [[prefix + name, value]] : flat(value, `${prefix}${name}.`),
  )
}
