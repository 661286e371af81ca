/** systemd/README.md as a sequence of things to do: every block of code, and every command of the tables. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../helpers/daemon.ts'
import { blocksOf, commandsOf } from '../helpers/readme.ts'

export type Step =
  { readonly kind: 'command'; readonly line: string } | { readonly kind: 'settings'; readonly text: string }

const programs = /^(assistant-core|assistant-corectl|systemctl|curl|journalctl|npm|apt-get) /

export function manualSteps(): readonly Step[] {
  const text = readFileSync(join(projectRoot, 'systemd/README.md'), 'utf8')
  return [...text.matchAll(/^```\w*\n[\s\S]*?^```$|^\|.*\|$/gm)].flatMap(([part]): Step[] => {
    const [block] = blocksOf(part)
    if (!block)
      return [...part.matchAll(/`([^`]+)`/g)]
        .map(([, code]) => code!)
        .filter((code) => programs.test(code))
        .map((line) => ({ kind: 'command', line }))
    if (block.language === 'yaml') return [{ kind: 'settings', text: block.text }]
    assert.equal(block.language, 'sh', `a block that no test runs:\n${part}`)
    return commandsOf(block).map((line) => ({ kind: 'command', line }))
  })
}
