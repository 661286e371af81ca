// Runs in the frame of an MCP host (MCP Apps, 2026-01-26): the handshake, the host's colours, the size, and the answer of one
// tool call as text and pictures. It loads nothing, calls no tool and decides nothing; links are opened by the host.
const host = window.parent
const main = document.querySelector('main')
const { view, base } = document.body.dataset
const pending = new Map()
let opensLinks = false

const send = (message) => host.postMessage({ jsonrpc: '2.0', ...message }, '*')
const ask = (method, params) =>
  new Promise((resolve, reject) => {
    const id = pending.size + 1
    pending.set(id, { resolve, reject })
    send({ id, method, params })
  })

const heard = {
  'ui/notifications/tool-result': show,
  'ui/notifications/tool-cancelled': () => main.replaceChildren(make('p', 'The call was cancelled.')),
  'ui/notifications/host-context-changed': dress,
}
addEventListener('message', ({ source, data }) => {
  if (source !== host || data?.jsonrpc !== '2.0') return
  const { id, method, params, result, error } = data
  if (method === undefined) {
    if (error) pending.get(id)?.reject(error)
    else pending.get(id)?.resolve(result)
  } else if (id === undefined) heard[method]?.(params)
  else if (method === 'ping' || method === 'ui/resource-teardown') send({ id, result: {} })
  else send({ id, error: { code: -32601, message: 'this view has no such method' } })
})

async function greet() {
  const { hostContext, hostCapabilities } = await ask('ui/initialize', {
    appInfo: { name: `assistant-core ${view}`, version: '1' },
    appCapabilities: { availableDisplayModes: ['inline'] },
    protocolVersion: '2026-01-26',
  })
  opensLinks = hostCapabilities?.openLinks !== undefined
  dress(hostContext)
  send({ method: 'ui/notifications/initialized', params: {} })
  new ResizeObserver(() => {
    const { width, height } = document.body.getBoundingClientRect()
    const params = { width: Math.ceil(width), height: Math.ceil(height) }
    send({ method: 'ui/notifications/size-changed', params })
  }).observe(document.body)
}

/** The host's theme, and those of its style variables that are what they are called. */
function dress({ theme, styles } = {}) {
  const { style } = document.documentElement
  if (theme === 'light' || theme === 'dark') style.colorScheme = theme
  for (const [name, value] of Object.entries(styles?.variables ?? {}))
    if (name.startsWith('--') && typeof value === 'string') style.setProperty(name, value)
}

function make(tag, content, more = {}) {
  const element = Object.assign(document.createElement(tag), more)
  element.append(...[content ?? []].flat())
  return element
}

/** A way to a page of the service; its address, where the host opens none. */
function link(text, url) {
  const address = make('code', url, { className: 'address' })
  if (!opensLinks) return make('p', [text, address])
  const button = make('button', text, { type: 'button' })
  button.addEventListener('click', async () => {
    const answer = await ask('ui/open-link', { url }).catch(() => ({ isError: true }))
    if (answer?.isError) button.replaceWith(address)
  })
  return make('p', button)
}

function table(caption, heads, rows) {
  const cells = (tag, row) =>
    make(
      'tr',
      row.map((text) => make(tag, String(text ?? '–'))),
    )
  const head = make('thead', cells('th', heads))
  return make('table', [
    make('caption', caption),
    head,
    make(
      'tbody',
      rows.map((row) => cells('td', row)),
    ),
  ])
}

function show(result = {}) {
  const { content = [], structuredContent, isError, _meta } = result
  const text = content.find(({ type }) => type === 'text')?.text ?? ''
  const pictures = content.filter(({ type }) => type === 'image')
  const calls = _meta?.['assistant-core/waiting-calls'] ?? []
  const data = isError ? undefined : (structuredContent ?? parsed(text))
  const shown = (data && views[view](data, pictures)) ?? []
  // What only sends the user to a page that is linked here needs no words of its own.
  if (shown.length === 0 && !calls.some(({ url }) => text.includes(url)))
    shown.push(make(isError ? 'p' : 'pre', text, { className: isError ? 'fault' : '' }))
  main.replaceChildren(...shown, ...calls.map(waitingCall))
}

function parsed(text) {
  try {
    const data = JSON.parse(text)
    return typeof data === 'object' && data !== null ? data : undefined
  } catch {
    return undefined
  }
}

function figure({ chart_name: name, points = [] }, picture) {
  const numbers = table(
    'What is drawn',
    ['What', 'Value'],
    points.map(({ label, value }) => [label, value]),
  )
  return make(
    'figure',
    [
      make('figcaption', name),
      picture
        ? make('img', [], {
            src: `data:${picture.mimeType};base64,${picture.data}`,
            alt: `${name}; the numbers are below`,
          })
        : [],
      make('details', [make('summary', 'The numbers'), numbers]),
    ].flat(),
  )
}

const views = {
  chart: (data, pictures) => [
    figure(data, pictures[0]),
    ...(data.warnings ?? []).map((warning) => make('p', warning, { className: 'note' })),
  ],
  dashboards: ({ dashboard, dashboards, charts = [], note }, pictures) => {
    const left = [...pictures]
    if (dashboard)
      return [
        make('h1', dashboard.dashboard_name),
        ...charts.map((chart) =>
          chart.error
            ? make('p', `${chart.chart_id}: ${chart.error}`, { className: 'note' })
            : figure(chart, left.shift()),
        ),
        ...(note ? [make('p', note, { className: 'note' })] : []),
        link('Open it in the browser', `${base}/desk/${encodeURIComponent(dashboard.dashboard_id)}`),
      ]
    return [
      make('h1', dashboards?.length ? 'Dashboards' : 'There is no dashboard yet'),
      ...(dashboards ?? []).map((one) =>
        make('section', [
          make('h2', one.dashboard_name),
          make('p', one.shared ? `of ${one.owner}` : 'yours', { className: 'small' }),
          link('Open it in the browser', `${base}/desk/${encodeURIComponent(one.dashboard_id)}`),
        ]),
      ),
    ]
  },
  approvals: ({ pending_approvals: documents }) => {
    if (!documents) return []
    const rows = documents.map((one) => [
      `${one.doctype} ${one.title ?? one.name}`,
      one.workflow_state,
      one.available_actions.map(({ action }) => action).join(', '),
      one.creation,
    ])
    return documents.length === 0
      ? [make('p', 'No document waits for you.')]
      : [table('Documents that wait for you', ['Document', 'State', 'You may', 'Since'], rows)]
  },
}

/** The call of a tool: here it can only be seen; the decision is made where the user is signed in. */
function waitingCall({ url, title, about, client, destructive, asked, expires }) {
  return make('section', [
    make('h2', about ? `${title}: ${about}` : title),
    make('p', `${client} asked at ${asked}; it ends at ${expires}`, { className: 'small' }),
    ...(destructive ? [make('p', 'This changes or removes data.', { className: 'note' })] : []),
    link('Decide on its page', url),
  ])
}

void greet()
