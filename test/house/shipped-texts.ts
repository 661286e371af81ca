import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../documents/trading-company.ts'

/** Every shipped text for people and models, by file. */
export function texts(): [string, string][] {
  const found: [string, string][] = []
  const walk = (path: string): void => {
    for (const name of readdirSync(join(root, path))) {
      const file = join(path, name)
      if (statSync(join(root, file)).isDirectory()) walk(file)
      else if (/\.(ya?ml|md)$/.test(name)) found.push([file, readFileSync(join(root, file), 'utf8')])
    }
  }
  for (const folder of ['config', 'prompts', 'skills', 'templates', 'docs', 'systemd', 'container'])
    if (existsSync(join(root, folder))) walk(folder)
  found.push(['README.md', readFileSync(join(root, 'README.md'), 'utf8')])
  return found
}
