/** Every mistake is told at once, at its place, in words, causes first; and nothing else is. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readWholeSite } from '../../src/build/snapshot.ts'
import { faultText } from '../../src/site/site-files.ts'
import { copyOfShippedSite } from '../helpers/daemon.ts'
import { mistakes } from './mistakes.ts'
import { writeFiles } from './site-folder.ts'

describe('what an author is told of', () => {
  for (const { name, files, change, faults } of mistakes) {
    it(name, async (t) => {
      const site = copyOfShippedSite(t)
      if (files) writeFiles(site, files)
      if (change) {
        const [file, from, to] = change
        const text = readFileSync(join(site, file), 'utf8')
        assert.ok(text.includes(from), `${file} holds ${from}`)
        writeFileSync(join(site, file), text.replace(from, to))
      }
      const told = (await readWholeSite(site)).faults.map(faultText)
      assert.deepEqual(told, faults)
    })
  }
})
