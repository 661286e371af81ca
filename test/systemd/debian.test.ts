/** The manual of the service, word for word on a clean Debian with systemd, behind nginx, with a real MCP client over TLS. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { mcpPath } from '../cli/running-service.ts'
import { projectRoot, temporaryFolder, type Finished } from '../helpers/daemon.ts'
import { mergeSettings } from '../helpers/readme.ts'
import { address, bootDebian, debianMissing, type Debian } from './debian.ts'
import { manualSteps } from './manual.ts'

const name = 'assistant.example.com'
const origin = `https://${name}`
const site = 'etc/assistant-core/config'

describe('a Debian server', () => {
  it(
    'is set up, used, backed up, restored, upgraded and cleaned as the manual says',
    { skip: debianMissing(), timeout: 580_000 },
    async (t) => {
      const folder = temporaryFolder(t)
      const packed = pack(folder)
      const debian = await bootDebian(t, name, ['curl'])
      copyFileSync(join(folder, packed), join(debian.root, 'root', packed))
      const authority = await certify(debian, folder)
      const walk = new Walk(debian, authority)

      const words = (line: string): string =>
        line
          .replace(/^npm install --global assistant-core$/, `npm install --global ./${packed}`)
          .replace(/state-2026-01-31T\d{6}\.backup/, () => walk.backup)
          .replace(/--request ID$/, `--request ${walk.request}`)
          .replace(/--trace ID$/, '--trace 0af7651916cd43dd8448eb211c80319c')
          // It follows until its reader has seen enough.
          .replace(/^(.* audit tail -f)$/, 'timeout 8 $1; test $? = 124')
      for (const step of manualSteps()) {
        if (step.kind === 'settings') {
          const path = join(debian.root, site, 'settings.yaml')
          writeFileSync(path, mergeSettings(readFileSync(path, 'utf8'), step.text))
          continue
        }
        await walk.before(step.line)
        const done = await debian.run(words(step.line), {
          online: /^(apt-get|npm) install/.test(step.line),
        })
        const journal = done.code === 0 ? '' : (await debian.run('journalctl --no-pager -n 60')).stdout
        assert.equal(done.code, 0, `${step.line}\n${done.stdout}${done.stderr}\n${journal}`)
        t.diagnostic(step.line)
        await walk.after(step.line, done)
      }
      walk.complete()
    },
  )
})

/** What is done around the commands of the manual, and what is looked at: the stations of the walk. */
class Walk {
  backup = ''
  request = ''
  readonly #debian: Debian
  readonly #authority: string
  readonly #seen = new Set<string>()
  #password = ''
  #token = ''
  #laterToken = ''

  constructor(debian: Debian, authority: string) {
    this.#debian = debian
    this.#authority = authority
  }

  async before(line: string): Promise<void> {
    if (line.startsWith('journalctl ')) {
      await this.#ready()
      // Which is a moment before its sign-in is made and told.
      const told = 'journalctl --no-pager -u assistant-core | grep -q "MCP endpoint"'
      await this.#debian.run(`for n in $(seq 100); do ${told} && break; sleep 0.1; done`)
    }
    if (line === 'nginx -t && systemctl reload nginx')
      await this.#lines('systemctl is-active nginx', 'active')
    if (line.includes(' store verify --file ')) await this.#makeBackup()
    if (line.startsWith('systemctl reload ')) await this.#refuseBrokenSite()
  }

  async after(line: string, done: Finished): Promise<void> {
    const station = Object.keys(this.#stations)
      .filter((beginning) => `${line} `.startsWith(`${beginning} `))
      .toSorted((one, other) => other.length - one.length)[0]
    if (station === undefined) return
    this.#seen.add(station)
    await this.#stations[station]!(done)
  }

  /** A station that the manual no longer passes would look at nothing. */
  complete(): void {
    assert.deepEqual(
      Object.keys(this.#stations).filter((station) => !this.#seen.has(station)),
      [],
    )
  }

  /** What holds after a command that begins so. */
  readonly #stations: Readonly<Record<string, (done: Finished) => void | Promise<void>>> = {
    'assistant-core install --systemd --dry-run': ({ stdout }) => {
      assert.match(stdout, /write +\/etc\/systemd\/system\/assistant-core\.service/)
      assert.ok(!existsSync(join(this.#debian.root, 'etc/assistant-core')))
    },
    'assistant-core install --systemd': () => this.#permissions(),
    journalctl: ({ stdout }) => {
      this.#password = /password +(\S+)/.exec(stdout)?.[1] ?? ''
      assert.ok(this.#password.length >= 16, stdout)
      assert.match(stdout, /change it with: assistant-corectl users passwd /)
      assert.doesNotMatch(stdout, /analysis is limited/, 'the sandbox works under the unit')
    },
    'assistant-corectl status': async ({ stdout }) => {
      assert.match(stdout, /running as process \d+/)
      assert.doesNotMatch(stdout, /^degraded/m)
      const { stderr } = await this.#debian.run(
        'assistant-core check; cd / && runuser -u nobody -- assistant-corectl status',
      )
      assert.match(stderr, /not the service of this machine; for that use assistant-corectl/)
      assert.match(stderr, /only root may act as the service/)
    },
    'assistant-corectl doctor': async ({ stdout }) => {
      assert.doesNotMatch(stdout, /^(warning|FAILURE)/m)
      assert.match(stdout, /^ok +public\.tls/m)
      assert.match(stdout, /^ok +analysis\.python/m)
      await this.#story()
    },
    'assistant-corectl audit tail -f': ({ stdout }) => assert.match(stdout, /tool\.call/),
    'assistant-core restore': async () => {
      await this.#lines("stat -c '%a %U' /var/lib/assistant-core", '700 assistant-core')
      await this.#lines('find /var/lib/assistant-core* ! -user assistant-core')
    },
    'systemctl start assistant-core': async () => {
      await this.#ready()
      assert.equal((await this.#use(this.#token)).code, 0, 'a token of before the backup')
      assert.notEqual((await this.#use(this.#laterToken)).code, 0, 'a token of after the backup')
      await this.#lines('assistant-corectl audit verify > /dev/null && echo whole', 'whole')
    },
    'systemctl restart assistant-core': () => this.#ready(),
    'systemctl start assistant-core.socket': async () => {
      await this.#restartUnderRequests()
      await this.#lines('systemctl --failed --plain --no-legend')
    },
    'assistant-core uninstall --systemd': ({ stderr }) => this.#uninstalled(stderr),
    'npm uninstall': () => this.#lines('command -v assistant-core || echo gone', 'gone'),
  }

  async #permissions(): Promise<void> {
    await this.#lines(
      "stat -c '%a %U %n' /etc/assistant-core /etc/assistant-core/config/users.yaml /var/lib/assistant-core /var/backups/assistant-core /usr/local/sbin/assistant-corectl",
      '755 root /etc/assistant-core',
      '644 root /etc/assistant-core/config/users.yaml',
      '700 assistant-core /var/lib/assistant-core',
      '700 assistant-core /var/backups/assistant-core',
      '755 root /usr/local/sbin/assistant-corectl',
    )
  }

  async #story(): Promise<void> {
    const done = await this.#client('sign-in-over-tls-child.ts', 'admin@example.com', this.#password)
    assert.equal(done.code, 0, done.stderr)
    const told = JSON.parse(done.stdout) as {
      tools: number
      documents: unknown
      python: unknown
      token: string
    }
    assert.ok(told.tools > 20)
    assert.doesNotMatch(JSON.stringify(told.documents), /"isError":true/)
    assert.match(JSON.stringify(told.python), /\b42\b/)
    this.#token = told.token
    const search = await this.#debian.run(
      'assistant-corectl audit search --user admin@example.com --type tool.call --json',
    )
    const events = search.stdout
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text) as { address?: string; request_id?: string; target?: string })
    assert.deepEqual(
      events.map((event) => `${event.target} ${event.address}`).toSorted(),
      [`list_documents ${address}`, `run_python_code ${address}`],
      'who did what, from the address that only the proxy knew',
    )
    this.request = events[0]!.request_id!
  }

  async #refuseBrokenSite(): Promise<void> {
    const path = join(this.#debian.root, site, 'users.yaml')
    const good = readFileSync(path, 'utf8')
    writeFileSync(path, `${good}\n  - email: [\n`)
    const refused = await this.#debian.run('systemctl reload assistant-core')
    writeFileSync(path, good)
    assert.notEqual(refused.code, 0, 'a broken site is refused')
    await this.#lines('systemctl is-active assistant-core', 'active')
    const { stdout } = await this.#debian.run('journalctl -u assistant-core -n 20')
    assert.match(stdout, /config\/users\.yaml:\d+:\d+/)
  }

  /** What the timer starts at night is started now. */
  async #makeBackup(): Promise<void> {
    if (this.backup !== '') return
    await this.#lines('systemctl is-active assistant-core-backup.timer', 'active')
    const made = await this.#debian.run('systemctl start assistant-core-backup.service')
    const { stdout } = await this.#debian.run(
      'journalctl -u assistant-core-backup; ls /var/backups/assistant-core',
    )
    assert.equal(made.code, 0, stdout)
    this.backup = /^state-\S+\.backup$/m.exec(stdout)?.[0] ?? ''
    assert.ok(this.backup, stdout)
    const later = await this.#debian.run('assistant-corectl tokens issue --user sales@example.com --json')
    this.#laterToken = (JSON.parse(later.stdout) as { access_token: string }).access_token
    assert.equal((await this.#use(this.#laterToken)).code, 0)
  }

  /** With the socket no request fails while the service restarts: it waits. */
  async #restartUnderRequests(): Promise<void> {
    await this.#ready()
    const done = await this.#debian.run(
      'systemctl restart assistant-core & for i in $(seq 30); do curl -sS -o /dev/null -w "%{http_code}\\n" --max-time 300 http://localhost:8787/healthz || exit 1; sleep 0.1; done; wait',
    )
    assert.equal(done.code, 0, done.stderr)
    assert.deepEqual(new Set(done.stdout.trim().split('\n')), new Set(['200']))
  }

  async #uninstalled(said: string): Promise<void> {
    assert.match(said, /\/var\/lib\/assistant-core/, 'it names what stays')
    await this.#lines(
      'find / -xdev -path /usr/lib/node_modules -prune -o -path /root -prune -o -name "assistant-core*" -print | sort',
      // Theirs: the link to the program is npm's, the proxy's configuration the administrator's.
      '/etc/assistant-core',
      '/etc/nginx/sites-available/assistant-core',
      '/etc/nginx/sites-enabled/assistant-core',
      '/usr/bin/assistant-core',
      '/var/backups/assistant-core',
      '/var/lib/assistant-core',
      ...readdirSync(join(this.#debian.root, 'var/lib'))
        .filter((one) => one.startsWith('assistant-core.'))
        .map((one) => `/var/lib/${one}`),
    )
    const settings = readFileSync(join(this.#debian.root, site, 'settings.yaml'), 'utf8')
    assert.match(settings, new RegExp(`^public_url: ${origin}$`, 'm'))
    assert.ok(existsSync(join(this.#debian.root, 'var/backups/assistant-core', this.backup)))
    await this.#lines('id -un assistant-core', 'assistant-core')
    await this.#lines("systemctl list-units --all --plain --no-legend 'assistant-core*'")
    await this.#lines('pgrep -u assistant-core')
    await this.#lines('curl -s localhost:8787/healthz || echo nobody', 'nobody')
  }

  async #ready(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const done = await this.#debian.run('curl -sf localhost:8787/healthz')
      if (done.code === 0) return
      if (attempt > 300) {
        const journal = await this.#debian.run('journalctl --no-pager -n 60')
        throw new Error(`the service does not accept requests:\n${journal.stdout}`)
      }
      await delay(300)
    }
  }

  #use(token: string): Promise<Finished> {
    return this.#client('mcp-over-tls-child.ts', token)
  }

  #client(child: string, ...args: readonly string[]): Promise<Finished> {
    const script = join(import.meta.dirname, child)
    return this.#debian.beside(
      [process.execPath, '--import', import.meta.resolve('tsx'), script, origin + mcpPath, ...args],
      { NODE_EXTRA_CA_CERTS: this.#authority },
    )
  }

  async #lines(command: string, ...expected: readonly string[]): Promise<void> {
    const { stdout, stderr } = await this.#debian.run(command)
    assert.deepEqual(stdout.split('\n').filter(Boolean), expected, `${command}\n${stderr}`)
  }
}

function pack(folder: string): string {
  const packed = spawnSync('npm', ['pack', '--pack-destination', folder, '--silent'], {
    cwd: projectRoot,
    encoding: 'utf8',
  })
  assert.equal(packed.status, 0, packed.stderr)
  return readdirSync(folder).find((one) => one.endsWith('.tgz'))!
}

/** The certificate where certbot puts it, from an authority that the server trusts; answers the authority's file. */
async function certify(debian: Debian, folder: string): Promise<string> {
  const authority = join(folder, 'authority.pem')
  const live = join(debian.root, 'etc/letsencrypt/live', name)
  mkdirSync(live, { recursive: true })
  const script = `
cd "$1"
new="openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
$new -x509 -days 90 -keyout authority.key -out authority.pem -subj '/CN=an authority of this test'
$new -keyout "$2/privkey.pem" -out request.pem -subj "/CN=$3"
printf 'subjectAltName=DNS:%s\\n' "$3" > extensions
openssl x509 -req -in request.pem -CA authority.pem -CAkey authority.key -CAcreateserial -days 60 -extfile extensions -out server.pem
cat server.pem authority.pem > "$2/fullchain.pem"`
  const made = spawnSync('sh', ['-euc', script, 'sh', folder, live, name], { encoding: 'utf8' })
  assert.equal(made.status, 0, made.stderr)
  copyFileSync(authority, join(debian.root, 'usr/local/share/ca-certificates/test.crt'))
  const trusted = await debian.run('update-ca-certificates')
  assert.equal(trusted.code, 0, trusted.stderr)
  return authority
}
