/** The Node versions that package.json names: each comes from npm, into `var/node`, when it is first needed. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'

const project = join(import.meta.dirname, '..')
const { engines } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
  engines: { node: string }
}

/** The supported majors; the last is the one that images and measurements use. */
export const supportedNodes = [...engines.node.matchAll(/(\d+)\.\d+\.\d+/g)].map(([, major]) => Number(major))

/** The environment in which `node` is that major, and what it is called in full. */
export function withNode(major: number): { readonly env: NodeJS.ProcessEnv; readonly version: string } {
  const bin =
    major === Number(process.versions.node.split('.')[0]) ? dirname(process.execPath) : fetched(major)
  const version = execFileSync(join(bin, 'node'), ['--version'], { encoding: 'utf8' }).trim().slice(1)
  return { env: { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}` }, version }
}

function fetched(major: number): string {
  const folder = join(project, 'var/node', String(major))
  const name = `node-${process.platform}-${process.arch}`
  const bin = join(folder, 'node_modules', name, 'bin')
  if (!existsSync(bin)) {
    const args = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, `${name}@${major}`]
    execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] })
  }
  return bin
}
