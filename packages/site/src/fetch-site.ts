/**
 * Fetches a site from another git repository into the repository around the site's folder; nothing is checked
 * out. Only the address's own protocol is used, no program that the repository configures runs, and credentials
 * reach git through its environment: neither the process list nor a message shows them.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { messageOf } from '#leaf/errors.ts'
import { readSecretFile } from '#leaf/secret-files.ts'
import { siteLimits } from './read-site.ts'
import { type GitAnswer, runGit } from './run-git.ts'

/** The source that a site is pulled from. */
export interface PullSource {
  readonly url: string
  /** A branch, a tag, a full ref or HEAD. */
  readonly ref: string
  /** The file with `user:token` for https, or a private key for ssh. */
  readonly credentials_file: string | null
}

/** Milliseconds that fetching may take. */
export const fetchMilliseconds = 120_000
/** The maximum of bytes that git may write: as a rule it writes far less than the files, for every commit. */
const mostBytes = 2 * siteLimits.totalBytes
const watchMilliseconds = 250

/** Fetches the ref, under the name `into`, and every branch as `site/BRANCH`, with their whole history. Never fails. */
export async function fetchSite(
  folder: string,
  source: PullSource,
  into: string,
  { signal, milliseconds }: { readonly signal: AbortSignal; readonly milliseconds: number },
): Promise<Pick<GitAnswer, 'ok' | 'problem'>> {
  const asked = await runGit(folder, ['rev-parse', '--is-shallow-repository', '--git-path', 'objects/pack'])
  const [shallow, packs = ''] = asked.output.toString('utf8').split('\n')
  let access: Access
  try {
    access = await accessOf(source)
  } catch (error) {
    return { ok: false, problem: messageOf(error) }
  }
  const watch = new AbortController()
  const packFolder = resolve(folder, packs)
  const watching = setInterval(() => {
    void unfinished(packFolder).then(({ bytes }) => bytes > mostBytes && watch.abort())
  }, watchMilliseconds)
  const fetch = (ref: string): Promise<GitAnswer> =>
    runGit(
      folder,
      [
        ...fetchArguments,
        // The whole history is needed, since the version numbers of prompts count commits.
        ...(shallow === 'true' ? ['--unshallow'] : []),
        '--',
        source.url,
        `+${ref}:${into}`,
        '+refs/heads/*:refs/remotes/site/*',
      ],
      {
        env: access.env,
        settings: [...fetchSettings, `protocol.${protocolOf(source.url)}.allow=always`],
        milliseconds,
        signal: AbortSignal.any([signal, watch.signal]),
      },
    )
  // Refs are given by their full names: `--prune` takes others for deleted.
  const names = /^(HEAD$|refs\/)/.test(source.ref)
    ? [source.ref]
    : [`refs/heads/${source.ref}`, `refs/tags/${source.ref}`]
  let answer = await fetch(names[0]!)
  if (/couldn't find remote ref/.test(answer.problem) && names.length > 1) answer = await fetch(names[1]!)
  clearInterval(watching)
  // The holder of the lock may be a daemon that is writing a pack just now.
  if (answer.ok || isLocked(answer)) return answer
  for (const name of (await unfinished(packFolder)).names) await rm(join(packFolder, name), { force: true })
  const problem = watch.signal.aborted
    ? `it has more than ${mostBytes} bytes; the most for a site is ${siteLimits.totalBytes}`
    : signal.aborted
      ? 'the service is stopping'
      : access.secrets.reduce((text, secret) => text.replaceAll(secret, '…'), answer.problem)
  return { ok: false, problem }
}

/** True when another git held a lock, so that a retry is worth it. */
export function isLocked({ ok, problem }: Pick<GitAnswer, 'ok' | 'problem'>): boolean {
  return !ok && /\.lock': File exists|cannot lock ref|objects\/pack\/\S+: No such file/.test(problem)
}

const fetchArguments =
  'fetch --quiet --no-tags --prune --no-recurse-submodules --no-write-fetch-head --upload-pack=git-upload-pack'.split(
    ' ',
  )

const fetchSettings = [
  'credential.helper=',
  // Redirects are off: the other server would get the credentials, too.
  'http.followRedirects=false',
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=30',
  'ssh.variant=ssh',
  'transfer.fsckObjects=true',
  // Git writes one file, whose growth is watched, whatever the number of objects.
  'fetch.unpackLimit=1',
  'fetch.writeCommitGraph=false',
]

interface Access {
  readonly env: Readonly<Record<string, string>>
  /** Texts that no message may show. */
  readonly secrets: readonly string[]
}

/** Returns git's credentials: for https `user:token`, for ssh a private key. */
async function accessOf({ url, credentials_file: file }: PullSource): Promise<Access> {
  const none = { GIT_ASKPASS: '' }
  if (protocolOf(url) === 'ssh') {
    const key = file === null ? '' : ` -oIdentitiesOnly=yes -i '${file.replaceAll("'", String.raw`'\''`)}'`
    const patience = '-oConnectTimeout=15 -oServerAliveInterval=15 -oServerAliveCountMax=2'
    const command = `ssh -oBatchMode=yes -oStrictHostKeyChecking=yes ${patience}${key}`
    return { env: { ...none, GIT_SSH_COMMAND: command }, secrets: [] }
  }
  if (protocolOf(url) === 'file' || file === null) return { env: none, secrets: [] }
  const pair = await readSecretFile(file, 'site.git.credentials_file')
  if (!/^[^:\s]*:\S+$/.test(pair))
    throw new Error(`site.git.credentials_file: ${file} does not hold user:token`)
  const basic = Buffer.from(pair).toString('base64')
  return {
    env: {
      ...none,
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `http.${new URL(url).origin}/.extraHeader`,
      GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
    },
    secrets: [basic, pair, pair.slice(pair.indexOf(':') + 1)],
  }
}

function protocolOf(url: string): string {
  return url.slice(0, url.indexOf(':'))
}

/** Returns the names and bytes of git's unfinished packs. */
async function unfinished(folder: string): Promise<{ names: readonly string[]; bytes: number }> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith('tmp_'))
  const sizes = await Promise.all(
    names.map(async (name) => (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0),
  )
  return { names, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}
