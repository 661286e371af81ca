/** The site's own tools as a daemon has them, and a service for HTTP tools to ask. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '#leaf/clock.ts'
import { type Fault, faultText, type SiteFiles } from '#site/site-files.ts'
import { secretsIn } from '#leaf/secret-files.ts'
import type { Principal } from '../../../src/core/principal.ts'
import type { ToolContext } from '../../../src/tools/tool.ts'
import { OwnTools } from '../../../src/tools/own/own-tools.ts'
import { readOwnTools } from '../../../src/tools/own/read-own-tools.ts'
import { readPeople } from '../../../src/users/read-people.ts'
import { silent, siteOf, someone } from '../../documents/trading-company.ts'
import { openOffice } from '../offices.ts'

export const boss = someone('boss@example.com', 'Boss')
export async function open(
  t: TestContext,
  texts: Record<string, string>,
  more: Partial<SiteFiles> = {},
  parts: { tick?: number; serves?: boolean } = {},
  office: Parameters<typeof openOffice>[1] = {},
) {
  const files = {
    ...siteOf({
      'config/doctypes/a.yaml': 'doctype: Thing\nfields: [{fieldname: title, type: text}]',
      ...texts,
    }),
    ...more,
  }
  const faults: Fault[] = []
  const warnings: unknown[] = []
  const log = {
    ...silent,
    warn: (message: string, fields?: unknown) => void warnings.push([message, fields]),
  }
  const own = new OwnTools({
    log,
    clock: systemClock,
    ...parts,
  })
  own.nameSecrets(secretsIn({ secrets_folder: null }, { state: files.folder }))
  t.after(() => own.close())
  const definitions = await readOwnTools(
    files,
    { faults, warnings: [] },
    readPeople(files, faults),
    [],
    (file) => own.module(files.folder, file, 256),
  )
  assert.deepEqual(faults.map(faultText), [])
  const tools = await own.open(definitions)
  return {
    ...(await openOffice(t, { files, tools, toolsYaml: '{}', ...office })),
    tools,
    warnings,
    own,
    definitions,
  }
}

export async function faultsOf(texts: Record<string, string>): Promise<string[]> {
  const files = siteOf(texts)
  const faults: Fault[] = []
  await readOwnTools(files, { faults, warnings: [] }, readPeople(files, faults), [], () =>
    Promise.resolve([]),
  )
  return faults.map(faultText)
}

export async function listen(
  t: TestContext,
  answer: (
    request: IncomingMessage,
    body: string,
  ) => { status?: number; text: string; headers?: Record<string, string> },
) {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      const { status = 200, text, headers = {} } = answer(request, body)
      response.writeHead(status, headers).end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as { port: number }).port
}

/** For tools that use nothing of it but who asks. */
export const contextOf = (principal: Principal): ToolContext => ({
  ...({} as ToolContext),
  principal,
  signal: new AbortController().signal,
})

/** A value as soon as it is what is waited for, or as it is after a quarter of a minute. */
export async function until<T>(what: () => T | Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries++) {
    const value = await what()
    if (holds(value) || tries > 300) return value
    await wait(50)
  }
}
