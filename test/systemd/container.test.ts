/** The image and the compose file say the same, and what a stranger should find closed is closed. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { parse } from 'yaml'
import { projectRoot } from '../helpers/daemon.ts'

it('an image runs as nobody, over a root that is read only, and only the proxy is reached from outside', () => {
  const textOf = (name: string): string => readFileSync(join(projectRoot, 'container', name), 'utf8')
  const { services } = parse(textOf('compose.yaml')) as {
    services: Record<
      string,
      { read_only?: boolean; cap_drop?: string[]; ports?: string[]; secrets?: string[] }
    >
  }
  const { 'assistant-core': service, database, proxy } = services
  assert.equal(service!.read_only, true)
  assert.deepEqual(service!.cap_drop, ['ALL'])
  assert.deepEqual([service!.ports, database!.ports], [undefined, undefined])
  assert.deepEqual(proxy!.ports, ['80:80', '443:443'])
  for (const wanted of [/^USER 10001:10001$/m, /^HEALTHCHECK /m, /^VOLUME \/state$/m, /^ARG BASE=/m])
    assert.match(textOf('Containerfile'), wanted)
  // An idle daemon holds megabytes more with a heap of the C library for each thread, in an image as under systemd.
  const arenas = /\bMALLOC_ARENA_MAX=\d+/.exec(
    readFileSync(join(projectRoot, 'systemd/assistant-core.service'), 'utf8'),
  )
  assert.ok(textOf('Containerfile').includes(arenas![0]), 'the image bounds them as the unit does')
  assert.match(textOf('README.md'), /--read-only --tmpfs \/tmp/)
  // Where both programs lay secrets, and by what name the manual has the settings call one.
  assert.match(textOf('Containerfile'), /^ENV (.*\\\n)*.*CREDENTIALS_DIRECTORY=\/run\/secrets/m)
  assert.deepEqual([/url_file: (\S+)/.exec(textOf('README.md'))![1]], service!.secrets)
})
