import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { faultText } from '../../src/site/site-files.ts'
import { readWholeSite } from '../../src/build/snapshot.ts'
import { copyOfShippedSite, projectRoot } from '../helpers/daemon.ts'
import { writeFiles } from './site-folder.ts'

const text = readFileSync(join(projectRoot, 'config/README.md'), 'utf8')

describe('config/README.md', () => {
  it('shows only files that are read without a fault', async (t) => {
    const site = copyOfShippedSite(t)
    const blocks = [...text.matchAll(/```(?:yaml|ts)\n(?:#|\/\/) (\S+)\n([^]*?)```/g)]
    assert.equal(blocks.length, text.match(/```(?:yaml|ts)/g)?.length)
    writeFiles(site, Object.fromEntries(blocks.map(([, file, content]) => [file!, content!])))
    const { reading, faults } = await readWholeSite(site)
    assert.deepEqual(faults.map(faultText), [])
    assert.deepEqual([...reading.own.http, ...reading.own.sql].map(({ tool }) => tool).sort(), [
      'stock',
      'weather',
    ])
    assert.deepEqual(
      reading.own.modules.map(({ name }) => name),
      ['double'],
    )
  })

  it('names every kind of file that a site is shipped with', () => {
    for (const name of readdirSync(join(projectRoot, 'config')))
      if (name !== 'README.md') assert.ok(text.includes(`\`${name.replace(/^(\w+)$/, '$1/*.yaml')}\``), name)
  })
})
