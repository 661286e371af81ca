/** The example configuration of nginx, run by the real nginx over folders of the test's own, with a certificate made for it. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { projectRoot } from '../helpers/daemon.ts'

/** Why nginx cannot be run here; false when it can. */
export function nginxMissing(): string | false {
  for (const [program, flag] of [
    ['nginx', '-v'],
    ['openssl', 'version'],
  ] as const)
    if (spawnSync(program, [flag]).error) return `${program} is not installed`
  return false
}

/** Starts nginx on `port` in front of `upstream`; `change` may spoil the example. Answers the file of the authority to trust. */
export async function startNginx(
  t: { after(close: () => unknown): void },
  folder: string,
  where: { readonly port: number; readonly upstream: number },
  change: (text: string) => string = (text) => text,
): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const key = join(folder, 'key.pem')
  const certificate = join(folder, 'certificate.pem')
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30']
  const files = ['-keyout', key, '-out', certificate]
  const made = spawnSync('openssl', ['req', '-x509', ...kind, ...files, ...subject])
  if (made.status !== 0) throw new Error(String(made.stderr))
  const example = readFileSync(join(projectRoot, 'systemd/nginx.conf'), 'utf8')
    .replace('127.0.0.1:8787', `127.0.0.1:${where.upstream}`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${where.port} ssl`)
    .replaceAll('assistant.example.com;', 'localhost;')
    .replace(/ssl_certificate .*/, `ssl_certificate ${certificate};`)
    .replace(/ssl_certificate_key .*/, `ssl_certificate_key ${key};`)
  const path = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  writeFileSync(
    path,
    `daemon off;\nmaster_process off;\npid ${folder}/pid;\nerror_log ${folder}/error.log;\nevents {}\nhttp {\naccess_log off;\n${temporary.join('\n')}\n${change(example)}\n}\n`,
  )
  const nginx = spawn('nginx', ['-p', folder, '-c', path, '-e', join(folder, 'error.log')], {
    stdio: 'ignore',
  })
  t.after(() => nginx.kill('SIGKILL'))
  for (let attempt = 0; !(await accepts(where.port)); attempt++) {
    if (attempt > 200 || nginx.exitCode !== null)
      throw new Error(readFileSync(join(folder, 'error.log'), 'utf8'))
    await delay(50)
  }
  return certificate
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
