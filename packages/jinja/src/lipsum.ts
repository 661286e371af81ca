/** Filler text, random each time. */
import { below } from './chance.ts'
import { Fault, type Run } from './limits.ts'

const WORDS = (
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore ' +
  'magna aliqua enim ad minim veniam quis nostrud exercitation ullamco laboris nisi aliquip ex ea commodo consequat ' +
  'duis aute irure in reprehenderit voluptate velit esse cillum eu fugiat nulla pariatur excepteur sint occaecat ' +
  'cupidatat non proident sunt culpa qui officia deserunt mollit anim id est laborum'
).split(' ')

/** So many paragraphs of `min` up to `max` words. */
export function lipsum(run: Run, paragraphs: number, min: number, max: number, html: boolean): string {
  if (paragraphs > 0 && max <= min)
    throw new Fault('ValueError', `empty range for randrange() (${min}, ${max})`)
  // Six letters a word: refused before the first one is made.
  run.text(Math.max(0, paragraphs) * Math.max(0, min) * 6)
  const all: string[] = []
  for (let i = 0; i < paragraphs; i++) all.push(paragraph(run, min + below(max - min)))
  return html ? all.map((text) => `<p>${text}</p>`).join('\n') : all.join('\n\n')
}

function paragraph(run: Run, length: number): string {
  run.text(length * 6)
  let text = ''
  let sentence = 0
  let clause = 0
  let last = ''
  for (let i = 0; i < length; i++) {
    let word = WORDS[below(WORDS.length)]!
    while (word === last) word = WORDS[below(WORDS.length)]!
    last = word
    const start = sentence === 0
    text += `${i === 0 ? '' : ' '}${start ? word[0]!.toUpperCase() + word.slice(1) : word}`
    sentence++
    clause++
    if (i === length - 1 || (sentence > 10 && below(8) === 0)) {
      text += '.'
      sentence = clause = 0
    } else if (clause > 3 && below(6) === 0) {
      text += ','
      clause = 0
    }
  }
  return text
}
