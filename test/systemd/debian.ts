/** A clean Debian that boots: a root made by debootstrap, systemd as its process 1, processes, network and cgroups of its own. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Finished } from '../helpers/daemon.ts'

/** Where a Debian lives: an address for documentation (RFC 5737), so that nothing is taken for the machine itself. */
export const address = '203.0.113.10'

export interface Debian {
  /** Its root, as a folder of this machine. */
  readonly root: string
  /** Runs a command line as root in root's home; `online` with this machine's network and its trust. */
  run(command: string, how?: { readonly online?: boolean }): Promise<Finished>
  /** Runs a program of this machine in the network of the Debian, which knows its own name there. */
  beside(words: readonly string[], env: NodeJS.ProcessEnv): Promise<Finished>
}

interface Mirror {
  readonly address: string
  readonly release: string
}

/** What systemd should not do to the machine below, or cannot do here. */
const masked = [
  'console-getty.service',
  'systemd-sysctl.service',
  'systemd-modules-load.service',
  'systemd-binfmt.service',
  'systemd-remount-fs.service',
  'proc-sys-fs-binfmt_misc.automount',
  'dev-hugepages.mount',
  'sys-kernel-debug.mount',
  'sys-kernel-tracing.mount',
  'sys-fs-fuse-connections.mount',
]

const namespaces = ['--mount', '--propagation', 'private', '--net', '--uts', '--ipc', '--cgroup']
const memory = '/dev/shm'
const prefix = 'assistant-core-debian-'
const cgroupOf = (pid: number | string): string => `assistant-core-${pid}`
const trusted = '/etc/ssl/certs/ca-certificates.crt'

/** Why no Debian can be made here; false when one can. */
export function debianMissing(): string | false {
  if (process.platform !== 'linux') return 'this is not Linux'
  if (process.getuid?.() !== 0) return 'making a Debian root takes root'
  for (const program of ['debootstrap', 'unshare', 'nsenter', 'setpriv', 'ip', 'openssl'])
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return `${program} is not installed`
  const possible = spawnSync('unshare', [
    ...namespaces,
    '--pid',
    '--fork',
    'sh',
    '-euc',
    // A writable hierarchy, a network of its own, and processes that are seen: what systemd needs.
    'mount -t cgroup2 none /mnt; mount -t proc none /proc; ip link set lo up',
  ])
  if (possible.status !== 0) return `no namespaces for a system: ${String(possible.stderr).trim()}`
  const mirror = ownMirror()
  if (!mirror) return 'this machine is no Debian with a mirror'
  const folder = mkdtempSync(join(tmpdir(), 'assistant-core-'))
  const release = `${mirror.address}dists/${mirror.release}/InRelease`
  const limits = ['-o', 'Acquire::http::Timeout=30', '-o', 'Acquire::https::Timeout=30']
  const fetched = spawnSync('/usr/lib/apt/apt-helper', [
    ...limits,
    'download-file',
    release,
    join(folder, 'release'),
  ])
  rmSync(folder, { recursive: true })
  return fetched.status === 0 ? false : `${release} cannot be fetched`
}

/** The mirror and the release that this machine gets its own packages from. */
function ownMirror(): Mirror | undefined {
  const format = ['--format', '$(REPO_URI) $(CODENAME)', 'Created-By: Packages', 'Origin: Debian']
  const asked = spawnSync('apt-get', ['indextargets', ...format], { encoding: 'utf8' })
  const release = /^VERSION_CODENAME=(.+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
  const line = asked.stdout?.split('\n').find((one) => one.endsWith(` ${release}`))
  return line && release ? { address: line.split(' ')[0]!, release } : undefined
}

/** Makes the root of one, with Node.js in it. */
export async function makeDebian(root: string, name: string, packages: readonly string[]): Promise<void> {
  const mirror = ownMirror()!
  const include = `--include=${['ca-certificates', ...packages].join()}`
  // In namespaces of its own, so that what it mounts is gone when it ends, however it ends.
  const made = await finish(
    owned(
      ['unshare', '--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child'],
      ['debootstrap', '--variant=minbase', include, mirror.release, root, mirror.address],
    ),
  )
  if (made.code !== 0) throw new Error(`debootstrap failed:\n${made.stdout.slice(-2000)}${made.stderr}`)
  furnish(root, name)
}

/** Makes one and boots it; after the test nothing of it is left. `name` is how its address is known. */
export async function bootDebian(
  t: { after(close: () => unknown): void },
  name: string,
  packages: readonly string[],
): Promise<Debian> {
  const folder = debianFolder()
  const closers: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closers.reverse()) await close()
    spawnSync('rm', ['-rf', folder])
  })
  const root = join(folder, 'root')
  await makeDebian(root, name, ['systemd-sysv', ...packages])
  for (const unit of masked) symlinkSync('/dev/null', join(root, 'etc/systemd/system', unit))
  const cgroup = cgroupOf(process.pid)
  const outer = owned(
    ['unshare', '--mount', '--propagation', 'private', 'sh', '-euc', beforeBoot, 'sh'],
    [folder, cgroup, address, npmCache()],
  )
  let said = ''
  outer.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  outer.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const ended = new Promise((resolve) => outer.once('close', resolve))
  closers.push(async () => {
    outer.kill('SIGKILL')
    await ended
    removeCgroup(folder, cgroup)
  })
  const hosts = join(folder, 'hosts')
  writeFileSync(hosts, `127.0.0.1 localhost\n${address} ${name}\n`)
  const target = (): string => {
    const pid = childOf(outer.pid!)
    if (outer.exitCode !== null || pid === undefined) throw new Error(`the Debian does not run:\n${said}`)
    return pid
  }
  const debian: Debian = {
    root,
    run: (command, { online = false } = {}) =>
      finish(
        owned(
          [
            'nsenter',
            ...`--target ${target()} --mount --uts --ipc --pid --cgroup`.split(' '),
            ...(online ? [] : ['--net']),
          ],
          ['env', '-i', ...environment(online), 'bash', '-c', `cd && ${command}`],
        ),
      ),
    beside: (words, env) =>
      finish(
        owned(
          ['nsenter', `--net=/proc/${target()}/ns/net`, 'unshare', '--mount', '--propagation', 'private'],
          ['sh', '-euc', 'mount --bind "$1" /etc/hosts; shift; exec "$@"', 'sh', hosts, ...words],
          env,
        ),
      ),
  }
  for (let attempt = 0; ; attempt++) {
    const state = childOf(outer.pid!) && (await debian.run('systemctl is-system-running --wait'))
    if (state && /^(running|degraded)/.test(state.stdout)) return debian
    if (attempt > 600 || outer.exitCode !== null)
      throw new Error(`systemd does not start: ${state ? state.stdout + state.stderr : ''}\n${said}`)
    await delay(200)
  }
}

/** Into a cgroup of its own, which is then the root of what it sees; `$1` folder, `$2` cgroup, `$3` address, `$4` npm's cache. */
const beforeBoot = `
mkdir "$1/cgroup"
mount -t cgroup2 cgroup2 "$1/cgroup"
mkdir "$1/cgroup/$2"
echo $$ > "$1/cgroup/$2/cgroup.procs"
exec unshare ${namespaces.join(' ')} --pid --fork --kill-child sh -euc '
root=$1/root
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/dev/shm"
if [ -n "$3" ]; then mount --bind "$3" "$root/root/.npm"; fi
ip link set lo up
ip address add "$2/32" dev lo
cd "$root"
mkdir .before
pivot_root . .before
umount -l .before
rmdir .before
exec env -i container=assistant-core-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
' sh "$1" "$3" "$4"
`

/** A test that was killed could not clean; its processes died with it, and its folder goes now. */
function sweep(): void {
  for (const place of [memory, tmpdir()].filter((one) => existsSync(one)))
    for (const name of readdirSync(place).filter((one) => one.startsWith(prefix))) {
      const [pid] = name.slice(prefix.length).split('-')
      if (existsSync(`/proc/${pid}`)) continue
      removeCgroup(join(place, name), cgroupOf(pid!))
      spawnSync('rm', ['-rf', join(place, name)])
    }
}

/** A folder of this process, where there is room for a system; those of processes that are gone go now. */
export function debianFolder(): string {
  sweep()
  return mkdtempSync(join(roomyFolder(), `${prefix}${process.pid}-`))
}

/** Memory, where there is plenty: packages are unpacked faster, and what is thrown away is never written to a disk. */
function roomyFolder(): string {
  const mounted = readFileSync('/proc/mounts', 'utf8').match(/^\S+ \/dev\/shm tmpfs (\S+)/m)?.[1]
  if (mounted === undefined || /noexec|nodev/.test(mounted)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return Math.min(freemem(), bavail * bsize) > 8 * 2 ** 30 ? memory : tmpdir()
}

/** What a server has before anybody reads our manual: a name, and Node.js as its administrator put it there. */
function furnish(root: string, name: string): void {
  writeFileSync(join(root, 'etc/hostname'), 'server\n')
  appendFileSync(join(root, 'etc/hosts'), `127.0.0.1 localhost\n${address} ${name}\n`)
  rmSync(join(root, 'etc/resolv.conf'), { force: true })
  writeFileSync(join(root, 'etc/resolv.conf'), readFileSync('/etc/resolv.conf'))
  cpSync(process.execPath, join(root, 'usr/bin/node'))
  cpSync(npmFolder(), join(root, 'usr/lib/node_modules/npm'), { recursive: true, verbatimSymlinks: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/bin/npm'))
  if (existsSync(trusted)) writeFileSync(join(root, 'root/trusted.pem'), readFileSync(trusted))
  mkdirSync(join(root, 'root/.npm'))
}

function npmFolder(): string {
  const beside = join(dirname(process.execPath), '../lib/node_modules/npm')
  return existsSync(beside) ? beside : '/usr/share/nodejs/npm'
}

/** What this machine fetched already need not be fetched again. */
function npmCache(): string {
  const cache = spawnSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).stdout.trim()
  return existsSync(cache) ? cache : ''
}

function environment(online: boolean): string[] {
  const base = [
    'HOME=/root',
    'LANG=C.UTF-8',
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  ]
  const proxies = Object.entries(process.env).filter(([key]) => /^(https?_proxy|no_proxy)$/i.test(key))
  if (!online) return [...base, `NODE_EXTRA_CA_CERTS=${trusted}`]
  return [
    ...base,
    'NODE_EXTRA_CA_CERTS=/root/trusted.pem',
    'npm_config_prefer_offline=true',
    ...proxies.map(([key, value]) => `${key}=${value}`),
  ]
}

/** A process that dies with this one. */
export function owned(
  program: readonly string[],
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): ChildProcess {
  return spawn('setpriv', ['--pdeathsig', 'KILL', ...program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
}

function finish(child: ChildProcess): Promise<Finished> {
  return new Promise((resolve, reject) => {
    let stdout = ''
    let stderr = ''
    child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** The first child of a process. */
export function childOf(parent: number): string | undefined {
  return readdirSync('/proc').find((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent
    } catch {
      return false
    }
  })
}

/** The kernel keeps the folders of a hierarchy after its last process; for a moment they are still in use. */
function removeCgroup(folder: string, cgroup: string): void {
  const script = `
mkdir -p "$1/cgroup"
mount -t cgroup2 cgroup2 "$1/cgroup" || exit 1
for attempt in $(seq 100); do
  find "$1/cgroup/$2" -depth -type d -exec rmdir {} + 2>/dev/null || true
  [ -d "$1/cgroup/$2" ] || exit 0
  sleep 0.1
done`
  spawnSync('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', folder, cgroup])
}
