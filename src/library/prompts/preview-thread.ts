/** The code of a thread that renders previews, one body after the other; all messages are plain data. */
import { readlinkSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { AppError, messageOf } from '#leaf/errors.ts'
import { preview } from './preview.ts'

/** A message to the thread: a body to render, or whether the document that it asked about exists. */
export type ToPreviewThread = { readonly body: string } | { readonly exists: boolean }

/** A message from the thread: that it is ready, and its folder in /proc; a document to look up for the caller; or the result. */
export type FromPreviewThread =
  | { readonly ready: true; readonly folder: string }
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

// A warm-up: the first rendering reads and compiles much that later ones reuse, and no caller waits for it.
await preview('{"template_content":"{{ a | upper }}","declared_arguments":[]}', exists)
port.on('message', (told: ToPreviewThread) => {
  if ('exists' in told) answer(told.exists)
  else void result(told.body).then(say)
})
say({ ready: true, folder: folderOfThread() })

/** Returns the folder that tells of this thread (proc(5)), or nothing on other systems than Linux. */
function folderOfThread(): string {
  try {
    return `/proc/${readlinkSync('/proc/thread-self')}`
  } catch {
    return '/'
  }
}
