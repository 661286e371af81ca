// What no form can do; without a script the buttons of it are not there.
// Passkeys need a script: it shows the forms that it can fill in, and sends them when the device has answered.
for (const place of document.querySelectorAll('[data-passkey]')) {
  const kind = place.dataset.passkey
  const parse =
    globalThis.PublicKeyCredential?.[
      kind === 'create' ? 'parseCreationOptionsFromJSON' : 'parseRequestOptionsFromJSON'
    ]
  if (!parse || !navigator.credentials) continue
  place.hidden = false
  const form = place.querySelector('form')
  form.addEventListener('submit', async (event) => {
    const field = form.elements.namedItem('credential')
    if (field.value !== '') return
    event.preventDefault()
    const said = place.querySelector('[role="alert"]')
    said.hidden = true
    try {
      const publicKey = parse.call(PublicKeyCredential, JSON.parse(place.dataset.options))
      field.value = JSON.stringify(await navigator.credentials[kind]({ publicKey }))
      form.submit()
    } catch (error) {
      const { name = '', message = '' } = error ?? {}
      said.hidden = false
      said.textContent =
        said.dataset[name.slice(0, 1).toLowerCase() + name.slice(1)] ?? `${said.dataset.other} ${message}`
    }
  })
}
// Events of the log as they come, above those of the page.
for (const button of document.querySelectorAll('[data-live]')) {
  const events = document.getElementById('events')
  const said = document.getElementById('watched')
  const { live, stop } = button.dataset
  const watch = button.textContent
  let source
  const show = (text) => {
    button.setAttribute('aria-pressed', String(source !== undefined))
    button.textContent = source ? stop : watch
    said.textContent = text
  }
  const end = (text) => {
    source.close()
    source = undefined
    show(text)
  }
  button.hidden = false
  button.addEventListener('click', () => {
    if (source) return end('')
    const last = button.dataset.last
    source = new EventSource(last ? live.replace(/after=[^&]*/, `after=${encodeURIComponent(last)}`) : live)
    source.addEventListener('message', ({ data, lastEventId }) => {
      button.dataset.last = lastEventId
      const { firstElementChild: row } = new DOMParser().parseFromString(data, 'text/html').body
      if (events.querySelector(`[data-key="${row.dataset.key}"]`)) return
      events.prepend(row)
      while (events.childElementCount > 500) events.lastElementChild.remove()
    })
    // A broken line is taken up again by itself; a closed one was refused.
    source.addEventListener(
      'error',
      () => source?.readyState === EventSource.CLOSED && end(said.dataset.ended),
    )
    show(said.dataset.on)
  })
}
// What was saved is kept no more.
if (document.querySelector('[data-saved]'))
  for (const [key, value] of Object.entries(localStorage))
    if (key.startsWith('kept ') && JSON.parse(value).sent) localStorage.removeItem(key)
