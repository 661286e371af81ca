/** What the manual prints compiles against the types that the package exports. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { projectRoot, temporaryFolder } from '../../helpers/daemon.ts'
import { blocksOf } from '../../helpers/readme.ts'

const manual = blocksOf(readFileSync(join(projectRoot, 'config/README.md'), 'utf8'))
const documented = manual.find(({ text }) => text.startsWith('// tools/urgent.ts'))!.text

describe('the types of assistant-core/tool', () => {
  it('let the documented module compile, and refuse what its tool or its documents do not take', (t) => {
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(projectRoot, join(folder, 'node_modules/assistant-core'))
    const compile = (text: string): string => {
      writeFileSync(join(folder, 'urgent.mts'), text)
      const args = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--types', '']
      try {
        execFileSync(join(projectRoot, 'node_modules/.bin/tsc'), [...args, 'urgent.mts'], { cwd: folder })
        return ''
      } catch (error) {
        return String((error as { stdout: Buffer }).stdout)
      }
    }
    assert.equal(compile(documented), '')
    assert.match(compile(documented.replace('({ task }', '({ tusk }')), /'tusk' does not exist/)
    assert.match(compile(documented.replace('name: task,', 'nam: task,')), /'nam' does not exist/)
    assert.match(compile(documented.replace("'invalid'", "'wrong'")), /"wrong"/)
    assert.match(compile(documented.replace("category: 'write'", "category: 'writes'")), /"writes"/)
  })
})
