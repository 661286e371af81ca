// What no form can do; without a script the buttons of it are not there.
for (const button of document.querySelectorAll('[data-copy]')) {
  if (!navigator.clipboard) continue
  button.hidden = false
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent)
    button.removeAttribute('aria-label')
    button.textContent = button.dataset.done
  })
}

// A table gets its rows here; without a script the page comes again with some.
for (const button of document.querySelectorAll('[data-rows]')) {
  button.addEventListener('click', (event) => {
    const table = button.closest('fieldset')
    const count = table.querySelector(`input[name$=".${button.value}.rows"]`)
    const last = table.querySelector('tbody tr:last-child')
    const index = Number(count.value)
    if (!last || index >= 60) return
    event.preventDefault()
    const row = last.cloneNode(true)
    row
      .querySelectorAll('input[name$=".name"][type="hidden"], input[name$="._delete"], .fault')
      .forEach((part) => part.remove())
    row.querySelector('th').textContent = String(index + 1)
    for (const input of row.querySelectorAll('input, select, textarea')) {
      input.name = input.name.replace(`.${index - 1}.`, `.${index}.`)
      input.id = input.name.replaceAll('.', '-')
      input.setAttribute('aria-label', input.getAttribute('aria-label').replace(/\d+$/, String(index + 1)))
      input.removeAttribute('aria-describedby')
      input.removeAttribute('aria-invalid')
      if (input.type === 'checkbox') input.checked = false
      else input.value = ''
    }
    last.after(row)
    count.value = String(index + 1)
    suggest(row)
    row.querySelector('input, select, textarea').focus()
  })
}
// Links are suggested as one types; without a script the first of them can be chosen.
function suggest(place) {
  for (const input of place.querySelectorAll('[data-suggest]')) {
    let waiting
    input.addEventListener('input', () => {
      clearTimeout(waiting)
      waiting = setTimeout(() => void fill(input), 200)
    })
  }
}
async function fill(input) {
  const typed = input.value
  const from = `${input.dataset.suggest}?typed=${encodeURIComponent(typed)}`
  const answer = await fetch(from).catch(() => undefined)
  if (!answer?.ok || input.value !== typed) return
  const options = (await answer.json()).map(({ value, label }) => new Option(label, value))
  input.list.replaceChildren(...options)
}
suggest(document)
// All boxes of a page are ticked at once.
for (const all of document.querySelectorAll('[data-all]')) {
  all.hidden = false
  all.addEventListener('change', () => {
    for (const box of all.form.querySelectorAll('[name^="row."]')) box.checked = all.checked
  })
}
// What was typed is not left by mistake.
for (const form of document.querySelectorAll('form.typed')) {
  let isChanged = form.dataset.changed !== undefined
  form.addEventListener('input', () => (isChanged = true))
  form.addEventListener('submit', () => (isChanged = false))
  addEventListener('beforeunload', (event) => isChanged && event.preventDefault())
}
// What takes long shows that it runs, and a second click in haste sends nothing twice.
let sent
document.addEventListener('submit', (event) => {
  const { submitter, target, timeStamp } = event
  if (event.defaultPrevented || !submitter) return
  const isHasty = sent?.submitter === submitter && timeStamp - sent.timeStamp < 5000
  if (isHasty && target.method === 'post') {
    event.preventDefault()
    return
  }
  sent = event
  submitter.setAttribute('aria-busy', 'true')
  addEventListener(
    'pageshow',
    () => {
      sent = undefined
      submitter.removeAttribute('aria-busy')
    },
    { once: true },
  )
})
