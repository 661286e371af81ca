// The editor of prompts, for browsers that run it: over the text area, which stays the field that is sent. `scripts/build.mjs`
// bundles it. It draws in a shadow tree, whose styles need no exception from the page's policy.
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { jinja } from '@codemirror/lang-jinja'
import { yamlFrontmatter } from '@codemirror/lang-yaml'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import {
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'

const look = EditorView.theme({
  '&': {
    border: '1px solid var(--soft)',
    borderRadius: '0.5rem',
    background: 'var(--card)',
    color: 'var(--text)',
    fontSize: '0.9rem',
  },
  '&.cm-focused': { outline: '3px solid var(--accent)', outlineOffset: '2px' },
  '.cm-scroller': { maxHeight: '75vh', minHeight: '18rem', lineHeight: '1.5' },
  '.cm-content': { fontFamily: 'ui-monospace, monospace', caretColor: 'var(--text)' },
  '.cm-gutters': {
    background: 'var(--ground)',
    color: 'var(--soft)',
    border: 'none',
    borderRadius: '0.5rem 0 0 0.5rem',
    fontFamily: 'ui-monospace, monospace',
  },
  '.cm-activeLine, .cm-activeLineGutter': { background: 'color-mix(in srgb, var(--accent) 8%, transparent)' },
  // Pictures that the policy does not let in.
  '.cm-lintRange-error, .cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad)',
  },
  '.cm-lint-marker-error, .cm-lint-marker-warning': {
    content: 'normal',
    width: '0.6em',
    height: '0.6em',
    margin: '0.45em 0.2em',
    borderRadius: '50%',
    background: 'var(--bad)',
  },
  '.cm-lint-marker-warning': { background: 'var(--soft)' },
  '.cm-lintRange-warning': { textDecorationColor: 'var(--soft)' },
  '.cm-tooltip': { background: 'var(--card)', color: 'var(--text)', border: '1px solid var(--soft)' },
  '.cm-panels': { background: 'var(--ground)', color: 'var(--text)' },
})
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword], color: 'light-dark(#7b2fbe, #d0a8ff)' },
  { tag: [tags.operatorKeyword, tags.logicOperator], color: 'light-dark(#7b2fbe, #d0a8ff)' },
  { tag: [tags.brace, tags.meta, tags.propertyName], color: 'var(--accent)' },
  { tag: tags.variableName, color: 'light-dark(#0b6b53, #6fe0b8)' },
  { tag: tags.string, color: 'light-dark(#8a4b08, #f0b673)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'light-dark(#0b5fa5, #7cc4ff)' },
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
])

/** Replaces what is selected, where a browser would keep its look in a style that the policy does not let in. */
function replace(event, { state, composing }) {
  if (event.inputType !== 'insertText' || !event.data || composing || state.selection.main.empty) return false
  event.preventDefault()
  view.dispatch(state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true })
  return true
}

const form = document.querySelector('form[data-keep]')
const field = form.elements.namedItem('text')
const help = document.getElementById('text-about')
help.hidden = false

const place = document.createElement('div')
field.after(place)
const view = new EditorView({
  root: place.attachShadow({ mode: 'open' }),
  parent: place.shadowRoot,
  state: EditorState.create({
    doc: field.value,
    extensions: [
      lineNumbers(),
      lintGutter(),
      history(),
      highlightSpecialChars(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      bracketMatching(),
      EditorView.lineWrapping,
      EditorView.perLineTextDirection.of(true),
      EditorView.contentAttributes.of({
        tabindex: '0',
        'aria-label': field.labels[0].textContent,
        'aria-description': help.textContent,
        ...(field.ariaInvalid === 'true' && { 'aria-invalid': 'true' }),
      }),
      EditorView.domEventHandlers({ beforeinput: replace }),
      look,
      syntaxHighlighting(colours),
      yamlFrontmatter({ content: jinja() }),
      keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (!docChanged) return
        field.value = state.doc.toString()
        field.dispatchEvent(new Event('input', { bubbles: true }))
      }),
    ],
  }),
})
field.labels[0].addEventListener('click', () => view.focus())
field.hidden = true
document.getElementById('lines')?.remove()

/** Returns where in the text a link to a place leads, whatever was changed since. */
function positionOf({ dataset }) {
  const line = view.state.doc.line(Math.min(Number(dataset.line), view.state.doc.lines))
  return { from: Math.min(line.from + Math.max(0, Number(dataset.column) - 1), line.to), to: line.to }
}

/** Marks in the text what the page says about its lines. */
function mark() {
  const found = [...document.querySelectorAll('[data-line]')].map((link) => ({
    ...positionOf(link),
    severity: link.dataset.kind,
    message: link.parentElement.textContent,
  }))
  view.dispatch(setDiagnostics(view.state, found))
}
mark()

document.addEventListener('click', (event) => {
  const link = event.target.closest('[data-line]')
  if (!link) return
  event.preventDefault()
  view.dispatch({ selection: { anchor: positionOf(link).from }, scrollIntoView: true })
  view.focus()
})

// What is typed is kept in this browser until it is saved, and offered again to the same person alone.
const mine = `kept ${form.dataset.keep} ${location.pathname}`
const began = form.elements.namedItem('began')
const offer = document.getElementById('kept')
for (const key of Object.keys(localStorage))
  if (key.startsWith('kept ') && !key.startsWith(`kept ${form.dataset.keep} `)) localStorage.removeItem(key)
const kept = JSON.parse(localStorage.getItem(mine) ?? 'null')
if (kept && kept.text !== field.value) {
  offer.hidden = false
  const time = new Date(kept.at)
  const format = new Intl.DateTimeFormat(document.documentElement.lang, {
    dateStyle: 'medium',
    timeStyle: 'short',
  })
  offer.querySelector('time').textContent = format.format(time)
  offer.querySelector('time').dateTime = time.toISOString()
  offer.addEventListener('click', ({ target }) => {
    if (!target.value) return
    if (target.value === 'take') {
      // Whoever has saved since then is met at the next save.
      began.value = kept.began
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: kept.text } })
    } else localStorage.removeItem(mine)
    offer.hidden = true
    view.focus()
  })
}
const keep = (more) =>
  localStorage.setItem(
    mine,
    JSON.stringify({ text: field.value, began: began.value, at: Date.now(), ...more }),
  )
field.addEventListener('input', () => keep())
form.addEventListener('submit', ({ submitter }) => {
  if (!submitter.hasAttribute('formaction') && localStorage.getItem(mine)) keep({ sent: true })
})

// The preview follows what is typed, through the form of its button.
const button = form.querySelector('[data-follows]')
const pause = 600
let waiting
let isAsking = false
let isStale = false
function follow(milliseconds) {
  isStale = true
  clearTimeout(waiting)
  waiting = setTimeout(() => void ask(), milliseconds)
}
async function ask() {
  if (isAsking) return
  isAsking = true
  isStale = false
  const body = new URLSearchParams(new FormData(form))
  const answer = await fetch(button.formAction, { method: 'POST', body }).catch(() => undefined)
  const page = new DOMParser().parseFromString((await answer?.text().catch(() => '')) ?? '', 'text/html')
  isAsking = false
  if (answer?.status === 429) return follow(1000 * Number(answer.headers.get('Retry-After')))
  if (isStale) return follow(pause)
  for (const part of document.querySelectorAll('[data-follow]')) {
    const fresh = page.getElementById(part.id)
    for (const one of [part, fresh]) one?.querySelector('[autofocus]')?.removeAttribute('autofocus')
    // Where somebody is writing nothing is put in place of it.
    if (!fresh || part.contains(document.activeElement) || part.innerHTML === fresh.innerHTML) continue
    part.replaceChildren(...fresh.childNodes)
  }
  mark()
}
form.addEventListener('input', () => follow(pause))
const given = [...document.querySelectorAll('#arguments :is(input, select, textarea)')]
// What a check or a save just told stays until something is typed.
const isTold = document.getElementById('told').firstElementChild
if (!isTold && given.every(({ value }) => value !== '')) follow(0)
