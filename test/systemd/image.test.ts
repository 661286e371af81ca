/** The image and the compose file as their manual has them: built, started, and used through the proxy. */
import assert from 'node:assert/strict'
import { spawnSync, type ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { mcpPath } from '../cli/running-service.ts'
import { projectRoot } from '../helpers/daemon.ts'
import { blocksOf, mergeSettings } from '../helpers/readme.ts'
import { childOf, debianFolder, debianMissing, makeDebian, owned } from './debian.ts'

const manual = blocksOf(readFileSync(join(projectRoot, 'container/README.md'), 'utf8'))

/** What a container inside a container may not ask for is left out, and all that it keeps lies in one folder. */
const containersConf = (folder: string): string => `
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
[network]
network_backend = "netavark"
network_config_dir = "${folder}/networks"
`

/** Processes, mounts and a network apart; one hierarchy of cgroups is what the runtime knows how to read. */
const apart =
  'unshare --mount --propagation private --net --pid --fork --kill-child --mount-proc sh -euc'.split(' ')
const beforeContainers = `
if mountpoint -q /sys/fs/cgroup; then umount --recursive --lazy /sys/fs/cgroup; fi
mount -t cgroup2 none /sys/fs/cgroup
for place in containers libpod crun netns; do
  mkdir -p /run/$place
  mount -t tmpfs tmpfs /run/$place
done
ip link set lo up
`
/** What a network of containers needs of the kernel, and layers that lie upon each other. */
const trial = `
mkdir "$0/lower" "$0/upper" "$0/work" "$0/both"
mount -t overlay -o "lowerdir=$0/lower,upperdir=$0/upper,workdir=$0/work" overlay "$0/both"
ip link add bridge0 type bridge
ip link add one type veth peer name other
iptables --table nat --append POSTROUTING --jump MASQUERADE
`

/** Why no image can be built here; false when one can. CI installs the programs, and forgives only the kernel. */
function builderMissing(): string | false {
  for (const program of ['podman', 'buildah', 'crun', 'podman-compose', 'iptables', 'openssl', 'curl'])
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return `${program} is not installed`
  const missing = debianMissing()
  if (missing !== false) return missing
  const folder = debianFolder()
  const [program, ...args] = apart
  const tried = spawnSync(program!, [...args, beforeContainers + trial, folder], { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  return tried.status === 0 ? false : `this kernel runs no containers: ${tried.stderr.trim()}`
}

describe('the image', () => {
  it(
    'is built and composed as its manual says, runs as nobody over a root that is read only, and serves through the proxy',
    { skip: builderMissing(), timeout: 580_000 },
    async (t) => {
      const folder = debianFolder()
      const here = join(folder, 'container')
      cpSync(join(projectRoot, 'container'), here, { recursive: true })
      const podman = new Podman(folder, here)
      t.after(() => podman.close())
      const root = join(folder, 'root')
      await makeDebian(root, 'image', ['postgresql', 'caddy'])
      writeFileSync(join(root, 'root/.npmrc'), 'cafile=/root/trusted.pem\n')
      podman.run(`tar -C ${root} -c . | podman import - localhost/debian`)
      rmSync(root, { recursive: true })
      standIns(podman, folder)

      const [build, start, prepare, store, compose] = manual.map(({ text }) => text.trim().split('\n'))
      podman.run(build![0]!.replace(/^npm pack (.*) \.\.$/, `npm pack --silent $1 ${projectRoot}`))
      const base = '--isolation chroot --build-arg BASE=localhost/debian'
      podman.run(build![1]!.replace('podman build', `podman build ${base}`))
      const [image] = JSON.parse(podman.run('podman inspect assistant-core')) as [
        { Config: { User: string }; Healthcheck: { Test: string[] } },
      ]
      assert.equal(image.Config.User, '10001:10001')
      assert.equal(image.Healthcheck.Test[0], 'CMD')
      alone(podman, start![0]!)

      for (const line of prepare!) podman.run(line)
      const settings = join(here, 'site/config/settings.yaml')
      writeFileSync(settings, mergeSettings(readFileSync(settings, 'utf8'), store!.join('\n')))
      const users = join(here, 'site/config/users.yaml')
      writeFileSync(users, readFileSync(users, 'utf8').replace(/^users: \[\]$/m, firstUser))
      composed(podman, compose![0]!.replace(/^HOST_NAME=\S+/, 'HOST_NAME=localhost'))
    },
  )
})

/** As the comment of `users.yaml` has it. */
const firstUser = `users:
  - email: ann@example.com
    full_name: Ann Example
    assistant_enabled: 1
    roles: [System Manager, Assistant User]`

/** The image by itself. */
function alone(podman: Podman, line: string): void {
  assert.match(line, /--read-only --tmpfs \/tmp /)
  podman.run(line.replace('podman run', 'podman run --detach'))
  podman.until('podman healthcheck run assistant-core')
  assert.match(podman.run('podman logs assistant-core 2>&1'), /password +\S{16,}/)
  assert.match(podman.run('podman exec assistant-core assistant-core status'), /running as process 1\b/)
  assert.equal(podman.run('podman exec assistant-core id --user').trim(), '10001')
  assert.equal(
    podman.run('podman exec assistant-core touch /site/x /usr/x && echo written || echo refused').trim(),
    'refused',
  )
  assert.equal(podman.run('podman exec assistant-core stat --format "%a %u" /state').trim(), '700 10001')
  podman.run('podman rm --force --time 20 assistant-core')
}

/** With the database and the proxy. */
function composed(podman: Podman, line: string): void {
  podman.run(line)
  const through =
    'curl --silent --show-error --insecure --max-time 20 --resolve localhost:443:127.0.0.1 https://localhost'
  podman.until(`${through}/readyz --fail`)
  const service = podman.run("podman ps --format '{{.Names}}' | grep assistant-core").trim()
  const issued = podman.run(
    `podman exec ${service} assistant-core tokens issue --user ann@example.com --json`,
  )
  const { access_token: token } = JSON.parse(issued) as { access_token: string }
  const call = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'list_skills', arguments: {} },
  })
  const answer = podman.run(
    `${through}${mcpPath} --header 'Authorization: Bearer ${token}' --header 'Content-Type: application/json' --data '${call}'`,
  )
  assert.match(answer, /"isError":false/)
  assert.match(
    podman.run(`${through}/.well-known/oauth-authorization-server`),
    /"issuer":"https:\/\/localhost"/,
  )
  const status = JSON.parse(podman.run(`podman exec ${service} assistant-core status --json`)) as {
    state: { kind: string }
  }
  assert.equal(status.state.kind, 'postgres')
  podman.run('podman-compose down')
}

/** In the place of the official images, which are far away: the same programs as Debian has them. */
function standIns(podman: Podman, folder: string): void {
  const place = join(folder, 'stand-ins')
  mkdirSync(place)
  writeFileSync(
    join(place, 'postgres'),
    `#!/bin/bash -eu
bin=$(echo /usr/lib/postgresql/*/bin)
data=/var/lib/postgresql/data
chown postgres $data
if [ ! -e $data/PG_VERSION ]; then
  runuser -u postgres -- $bin/initdb -D $data -U "$POSTGRES_USER" --auth-host=scram-sha-256 --pwfile="$POSTGRES_PASSWORD_FILE" -E UTF8
  echo 'host all all all scram-sha-256' >> $data/pg_hba.conf
  echo "CREATE DATABASE $POSTGRES_DB" | runuser -u postgres -- $bin/postgres --single -D $data postgres
fi
exec runuser -u postgres -- $bin/postgres -D $data -c listen_addresses='*'
`,
    { mode: 0o755 },
  )
  const build = (tag: string, text: string): void => {
    writeFileSync(join(place, 'Containerfile'), `FROM localhost/debian\n${text}\n`)
    podman.run(`podman build --isolation chroot --tag ${tag} ${place}`)
  }
  build('docker.io/library/postgres:17', 'COPY postgres /\nENTRYPOINT ["/postgres"]')
  build(
    'docker.io/library/caddy:2',
    'ENV XDG_DATA_HOME=/data\nCMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile"]',
  )
}

/** Podman with a storage and a network of its own, which are gone afterwards, however it ends. */
class Podman {
  readonly #folder: string
  readonly #here: string
  readonly #env: NodeJS.ProcessEnv
  readonly #holder: ChildProcess

  constructor(folder: string, here: string) {
    this.#folder = folder
    this.#here = here
    const conf = join(folder, 'containers.conf')
    writeFileSync(conf, containersConf(folder))
    const storage = join(folder, 'storage.conf')
    writeFileSync(
      storage,
      `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/graph"\nrunroot = "${folder}/run"\n`,
    )
    this.#env = { ...process.env, CONTAINERS_CONF: conf, CONTAINERS_STORAGE_CONF: storage }
    this.#holder = owned(apart, [`${beforeContainers}touch "$0/ready"; exec sleep infinity`, folder])
    for (let attempt = 0; !existsSync(join(folder, 'ready')); attempt++) {
      assert.ok(attempt < 600, 'the namespaces are not there')
      spawnSync('sleep', ['0.1'])
    }
  }

  /** Runs a line in the folder of the manual; only what fetches has this machine's network. */
  run(line: string): string {
    const { status, stdout, stderr } = this.#try(line)
    assert.equal(status, 0, `${line}\n${stdout}\n${stderr}`)
    return stdout
  }

  /** Runs a line until it succeeds. */
  until(line: string): void {
    let last = ''
    for (let attempt = 0; attempt < 120; attempt++) {
      const { status, stdout, stderr } = this.#try(line)
      if (status === 0) return
      last = stdout + stderr
      spawnSync('sleep', ['1'])
    }
    const logs = this.#try('for one in $(podman ps --all --format "{{.Names}}"); do podman logs $one; done')
    assert.fail(`${line}\n${last}\n${logs.stdout}${logs.stderr}`)
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#holder.once('close', resolve))
    this.#holder.kill('SIGKILL')
    await ended
    spawnSync('rm', ['-rf', this.#folder])
  }

  #try(line: string): { status: number | null; stdout: string; stderr: string } {
    const net = / build |import|npm /.test(line) ? [] : ['--net']
    const where = ['--target', childOf(this.#holder.pid!)!, '--mount', '--pid', ...net]
    return spawnSync('nsenter', [...where, 'bash', '-c', `cd "$0" && ${line}`, this.#here], {
      encoding: 'utf8',
      env: this.#env,
      maxBuffer: 1 << 26,
    })
  }
}
