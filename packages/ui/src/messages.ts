/** The texts of pages, one file a language. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** The languages of pages, each by its own name: those whose numbers can be read. */
export const languages = { en: 'English', de: 'Deutsch' } as const

/** A language of the pages. */
export type Language = keyof typeof languages

/** The texts of one language. */
export interface Messages {
  /** Returns a message by its name, `{placeholders}` and all; of two forms, that for this number. An unknown name is a bug. */
  readonly text: (name: string, number?: unknown) => string
  /** Translates one problem of several that a fault tells. */
  problem(message: string): string
  /** Translates a fault that is worded elsewhere into this language, where its sentence is known. */
  fault(message: string): string
}

type Tree = { readonly [name: string]: string | Tree }

/** Returns the messages of a folder, a file `en.yaml` for each language, each read when it is first needed: a start has no use for them. */
export function messagesIn(folder: string): Readonly<Record<Language, Messages>> {
  const read: Partial<Record<Language, Messages>> = {}
  return {
    get en() {
      return (read.en ??= readMessages(join(folder, 'en.yaml')))
    },
    get de() {
      return (read.de ??= readMessages(join(folder, 'de.yaml')))
    },
  }
}

/** True when there are messages in that language. */
export function isLanguage(name: unknown): name is Language {
  return typeof name === 'string' && Object.hasOwn(languages, name)
}

function readMessages(file: string): Messages {
  const { faults, ...tree } = parse(readFileSync(file, 'utf8')) as Tree
  const texts = new Map(flat(tree, ''))
  const translated = Object.entries((faults ?? {}) as Record<string, string>)
  const whole = new Map(translated)
  const open = translated
    .filter(([sentence]) => sentence.includes('{'))
    .map(([from, to]) => ({ parts: partsOf(from), joints: jointsOf(from), to }))
  // What has more joints than a sentence of the catalogue is several sentences, or holds a value with a joint.
  const known = (sentence: string, joints?: number): string | undefined => {
    const found = whole.get(sentence)
    if (found !== undefined) return found
    for (const { parts, to, joints: own } of open) {
      const values = joints === undefined || joints === own ? fillingOf(parts, sentence) : undefined
      if (values)
        return to.replaceAll(/\{(\w+)\}/g, (gap, name: string) => inWords(name, values.get(name) ?? gap))
    }
    const [, place, rest = ''] = /^([^:;\n]{1,100}(?::\d+:\d+(?: [\w.[\]]+)?)?): ([^]+)$/.exec(sentence) ?? []
    const behind = place === undefined ? undefined : known(rest, joints)
    return behind === undefined ? undefined : `${place}: ${behind}`
  }
  const inWords = (gap: string, value: string): string => {
    if (gap === 'fault') return several(value)
    if (!ofWords.has(gap)) return value
    const words = value.split(', ').map((word) => whole.get(word) ?? word)
    return whole.get(value) ?? words.join(', ')
  }
  const several = (message: string): string => {
    const parts = message.split('; ')
    const said: string[] = []
    for (let at = 0; at < parts.length;) {
      let count = Math.min(mostJoints + 1, parts.length - at)
      const next = (): string => parts.slice(at, at + count).join('; ')
      let found = known(next(), count - 1)
      while (found === undefined && --count > 0) found = known(next(), count - 1)
      said.push(found ?? parts[at]!)
      at += Math.max(count, 1)
    }
    return said.join('; ').replaceAll('.; ', '. ')
  }
  return {
    text: (name, number) => {
      const found = (number === 1 ? texts.get(`${name}_one`) : undefined) ?? texts.get(name)
      if (found === undefined) throw new Error(`no message "${name}" in ${file}`)
      return found
    },
    problem: inFirstLine((line) => {
      const [, problem = '', hint = ''] = /^(.*?)((?:; did you mean "[^"]*"\?)?)$/.exec(line) ?? []
      const said = known(problem) ?? several(problem)
      return hint === '' ? said : `${said} ${several(hint.slice(2))}`
    }),
    fault: inFirstLine(several),
  }
}

/** Says a message by its first line: below stand texts of others, such as a line of a template, or how two texts differ. */
function inFirstLine(say: (line: string) => string): (message: string) => string {
  return (message) => {
    const [line = ''] = message.split('\n', 1)
    return say(forPeople(line)) + message.slice(line.length)
  }
}

/** The gaps in which words of ours stand, which are translated as well. */
const ofWords: ReadonlySet<string> = new Set(['action', 'actions', 'kind', 'remedy', 'state', 'why'])

/** The most joints of a sentence in the catalogue. */
const mostJoints = 2

function jointsOf(sentence: string): number {
  return sentence.split('; ').length - 1
}

/** Leaves out what errors tell a model of other tools, in brackets. */
export function forPeople(text: string): string {
  return text.replace(/ \([a-z]+_[a-z_]+\b[^()]*\)/g, '')
}

/** The texts of a sentence with gaps, and between them the names of the gaps. */
function partsOf(sentence: string): readonly string[] {
  return sentence.split(/\{(\w+)\}/)
}

/** Returns what stands in the gaps of a sentence, each as short as may be; undefined when it is another sentence. */
function fillingOf(parts: readonly string[], sentence: string): ReadonlyMap<string, string> | undefined {
  if (!sentence.startsWith(parts[0]!)) return undefined
  const values = new Map<string, string>()
  let at = parts[0]!.length
  for (let index = 1; index < parts.length; index += 2) {
    const next = parts[index + 1]!
    const end = index + 2 === parts.length ? sentence.length - next.length : sentence.indexOf(next, at)
    if (end < at || !sentence.startsWith(next, end)) return undefined
    values.set(parts[index]!, sentence.slice(at, end))
    at = end + next.length
  }
  return at === sentence.length ? values : undefined
}

function flat(tree: Tree, prefix: string): [string, string][] {
  return Object.entries(tree).flatMap(([name, value]) =>
    typeof value === 'string' ? [[prefix + name, value]] : flat(value, `${prefix}${name}.`),
  )
}
