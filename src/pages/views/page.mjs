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
    try {
      const publicKey = parse.call(PublicKeyCredential, JSON.parse(place.dataset.options))
      field.value = JSON.stringify(await navigator.credentials[kind]({ publicKey }))
      form.submit()
    } catch {
      // The person turned it down, or the device has no passkey: the page stays as it is.
    }
  })
}
for (const button of document.querySelectorAll('[data-copy]')) {
  if (!navigator.clipboard) continue
  button.hidden = false
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent)
    button.removeAttribute('aria-label')
    button.textContent = button.dataset.done
  })
}
