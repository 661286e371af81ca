/** Real Jinja2, where this machine has it. */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Case } from './cases.ts'

const PYTHON = '/usr/bin/python3'

/** Why the oracle cannot be asked here; undefined when it can. */
export function whyNoOracle(): string | undefined {
  const probe = spawnSync(PYTHON, ['-c', 'import jinja2; assert jinja2.__version__ >= "3.1"'])
  return probe.status === 0 ? undefined : 'python3-jinja2 3.1 is not installed'
}

/** What Jinja2 makes of each template, in their order. */
export async function askOracle(questions: readonly object[]): Promise<Case['expect'][]> {
  const child = spawn(PYTHON, [join(import.meta.dirname, 'record.py'), '--live'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PYTHONHASHSEED: '0', PYTHONIOENCODING: 'utf-8' },
  })
  const answers: Case['expect'][] = []
  child.stdin.end(questions.map((question) => `${JSON.stringify(question)}\n`).join(''))
  for await (const line of createInterface({ input: child.stdout }))
    answers.push(JSON.parse(line) as Case['expect'])
  return answers
}
