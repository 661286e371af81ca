/** The inside of a thread that renders previews: one body after the other, told and answered in plain data. */
import { parentPort } from 'node:worker_threads'
import { AppError, messageOf } from '../core/errors.ts'
import { preview } from './preview.ts'

/** What a thread is told: a body to render, or whether the document it asked about exists. */
export type ToPreviewThread = { readonly body: string } | { readonly exists: boolean }

/** What a thread says: that it can begin, a document that the caller may or may not see, and how it ended. */
export type FromPreviewThread =
  | { readonly ready: true }
  | { readonly doctype: string; readonly name: string }
  | { readonly text: string }
  | { readonly fault: string; readonly data: unknown }
  | { readonly bug: string }

const port = parentPort!
const say = (message: FromPreviewThread): void => port.postMessage(message)
let answer: (exists: boolean) => void = () => {}

function exists(doctype: string, name: string): Promise<boolean> {
  say({ doctype, name })
  return new Promise((resolve) => (answer = resolve))
}

async function result(body: string): Promise<FromPreviewThread> {
  try {
    return { text: await preview(body, exists) }
  } catch (error) {
    return error instanceof AppError
      ? { fault: error.message, data: error.data }
      : { bug: error instanceof Error ? (error.stack ?? error.message) : messageOf(error) }
  }
}

// The first rendering reads and compiles much that the later ones find: nobody's time is spent on it.
await preview('{"template_content":"{{ a | upper }}","declared_arguments":[]}', exists)
port.on('message', (told: ToPreviewThread) => {
  if ('exists' in told) answer(told.exists)
  else void result(told.body).then(say)
})
say({ ready: true })
