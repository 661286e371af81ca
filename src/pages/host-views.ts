/** The pages that MCP hosts show in a frame of theirs (MCP Apps): self-contained, in the words of our own pages. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SuspendedCalls } from '../mcp/waiting/suspended-calls.ts'
import type { HostViews } from '../mcp/call.ts'
import { shownCall } from './documents/call-subject.ts'
import { minuteIn } from '#ui/forms.ts'
import { ownFile, type Render } from '#ui/pages.ts'
import { messages } from './views.ts'

/** Makes views that lead to the pages under `publicUrl`, where the user is signed in and decides. */
export function createHostViews(deps: {
  readonly render: Render
  readonly publicUrl: () => string
  readonly suspended: Pick<SuspendedCalls, 'waitingFor'>
}): HostViews {
  const styles = `${ownFile('pages.css')}\n${textOf('host-view.css')}`
  const script = textOf('host-view.mjs')
  // Only this style and this script may apply, whatever the data say and however weak the host's own policy is.
  const policy = [
    "default-src 'none'",
    'img-src data:',
    `style-src ${sourceOf(styles)}`,
    `script-src ${sourceOf(script)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  return {
    html: (view) =>
      deps.render(undefined, 'host-view', { view, base: deps.publicUrl(), policy, styles, script }),
    waitingFor: (user) => deps.suspended.waitingFor(user),
    about: (call) => {
      const { action, about, client, title, destructive, asked, expires } = shownCall(call)
      return {
        url: `${deps.publicUrl()}${String(action)}`,
        title,
        about,
        client: client === '' ? messages.en.text('approvals.by_key') : client,
        destructive,
        asked: minuteIn('UTC', Number(asked)),
        expires: minuteIn('UTC', Number(expires)),
      }
    },
  }
}

function textOf(file: string): string {
  return readFileSync(join(import.meta.dirname, 'views', file), 'utf8')
}

/** Returns an inline text as a CSP source, by its hash (CSP Level 3 §2.3.1). */
function sourceOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
