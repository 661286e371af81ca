/** No secret that the program makes may stand in what it keeps: asked of every state that any test leaves behind. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Every secret of ours begins so, and is longer than an id or a digest in which chance may write the same: access and refresh tokens, codes, client secrets, API keys, sessions, page tokens. */
const secret = /\bac_[a-z]{2}_[\w-]{40,}/g

/** Fails when a folder that the program wrote, or what it logged, holds a secret of ours. */
export function requireNoSecrets(folder: string, logged = ''): void {
  const texts = filesIn(folder).map((path) => [path, readFileSync(path, 'latin1')] as const)
  const found = [...texts, ['the log', logged] as const].flatMap(([place, text]) =>
    [...text.matchAll(secret)].map(([whole]) => `${whole.slice(0, 12)}… in ${place}`),
  )
  assert.deepEqual(found, [])
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
