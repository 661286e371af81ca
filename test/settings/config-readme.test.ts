import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { projectRoot } from '../helpers/daemon.ts'

const text = readFileSync(join(projectRoot, 'config/README.md'), 'utf8')

describe('config/README.md', () => {
  it('names every kind of file that a site is shipped with', () => {
    for (const name of readdirSync(join(projectRoot, 'config')))
      if (name !== 'README.md') assert.ok(text.includes(`\`${name.replace(/^(\w+)$/, '$1/*.yaml')}\``), name)
  })
})
