/**
 * Every number with a unit that the shipped files and the tools tell people and models is that of the program. What is no
 * limit of it says why. Whoever writes another number adds it here.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { operations } from '../../src/control/index.ts'
import { settingsSchema } from '../../src/core/settings.ts'
import { createDashboardChart } from '../../src/tools/analysing/create-dashboard-chart.ts'
import { createDashboard } from '../../src/tools/analysing/create-dashboard.ts'
import { analyzeBusinessData } from '../../src/tools/analysing/analyze-business-data.ts'
import { extractFileContent } from '../../src/tools/reading/extract-file-content.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { listUserDashboards } from '../../src/tools/analysing/list-user-dashboards.ts'
import { queryAndAnalyze } from '../../src/tools/analysing/query-and-analyze.ts'
import { runPythonCode } from '../../src/tools/analysing/run-python-code.ts'
import { searchAuditTool } from '../../src/tools/reading/search-audit.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { systemClock } from '#leaf/clock.ts'
import { defaultSandboxSettings } from '#sandbox/settings.ts'
import { root } from '../documents/trading-company.ts'
import { texts } from './shipped-texts.ts'

/** What a phrase tells: a number as the program has it, or why it is no limit of the program. */
type Claim = number | string

const seconds = 1000

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly default?: unknown
  readonly maximum?: number
}

function schemaOf(path: string): Schema {
  const found = path
    .split('.')
    .reduce<Schema | undefined>((here, key) => here?.properties?.[key], settingsSchema as unknown as Schema)
  assert.ok(found, path)
  return found
}

/** The default of a setting. */
function setting(path: string): number {
  const [, parent = '', key = ''] = /^(.*)\.(\w+)$/.exec(path)!
  const value =
    (schemaOf(parent).default as Record<string, unknown> | undefined)?.[key] ?? schemaOf(path).default
  assert.equal(typeof value, 'number', path)
  return value as number
}

const most = (path: string): number => schemaOf(path).maximum!

/** A number of the source, which stands behind these words there. */
function source(file: string, words: string): number {
  const text = readFileSync(join(root, file), 'utf8')
  const found = [
    ...text.matchAll(new RegExp(`${words.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}([\\d_.* <]+)`, 'g')),
  ]
  assert.equal(found.length, 1, `${file}: ${words} stands there ${found.length} times`)
  const [value, shift = '0'] = found[0]![1]!.split('<<')
  const factors = value!.replaceAll('_', '').split('*').map(Number)
  return factors.reduce((product, factor) => product * factor, 1) * 2 ** Number(shift)
}

const constant = (file: string, name: string): number => source(file, `const ${name} = `)

const unitOf: Readonly<Record<string, readonly number[]>> = {
  // Times in milliseconds; bytes, whose units the reader may take either way.
  ms: [1],
  millisecond: [1],
  s: [seconds],
  second: [seconds],
  minute: [60 * seconds],
  hour: [3600 * seconds],
  day: [86_400 * seconds],
  week: [7 * 86_400 * seconds],
  kB: [1000, 1024],
  KB: [1000, 1024],
  MB: [1_000_000, 1_048_576],
  GB: [1e9, 2 ** 30],
  KiB: [1024],
  MiB: [1_048_576],
}
const wordsFor =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen'.split(
    ' ',
  )
const tens: Readonly<Record<string, number>> = { twenty: 20, thirty: 30, forty: 40, fifty: 50, hundred: 100 }
const large: Readonly<Record<string, number>> = { thousand: 1000, million: 1_000_000 }
const parts: readonly (readonly [RegExp, number])[] = [
  [/quarter/, 1 / 4],
  [/half/, 1 / 2],
  [/tenth/, 1 / 10],
  [/fifths/, 4 / 5],
]

const word = `(?:${[...wordsFor.slice(2), ...Object.keys({ ...tens, ...large })].join('|')})`
const number = `(?:\\d(?:[\\d,_]*\\d)?(?:\\.\\d+)?|${word}(?:[ -]${word})?)`
const unit =
  '(?:milliseconds?|ms|seconds?|s|minutes?|hours?|days?|weeks?|months?|years?|rows?|documents?|characters?|letters|bytes?|[kKMGT]i?B|calls?|requests?|files?|tools?|columns?|entries|lines|fields|values|names|words|results|pages|doctypes|users|people|streams|tasks|versions|digits|tokens|texts|numbers|points|groups|templates|prompts|connections|megabytes|keys|clients|links|parts|records|events|times|options|items|charts|skills|matches|messages|arguments|bits|levels|daemons|cores|networks|rounds|roles|folders|processes|programs|statements)'
const phrase = new RegExp(
  [
    `(?<![\\w.:/#-]|[=:] )${number}[ -]${unit}\\b`,
    `\\b(?:at most|at least|up to|more than|fewer than|over|within|default|maximum|limit of):? ${number}(?![\\w:/-]|[.,]\\d)(?: ${unit}\\b)?`,
    `\\(${number} (?:when left out|without saying)\\)`,
    `\\b1 to ${number}(?: visible ASCII)? ${unit}\\b`,
    `\\bport ${number}(?![\\w.])`,
    '\\b(?:half an?|(?:a |three )?quarters? of an?|a tenth of an?|(?<=\\b(?:for|within|than|every|waits) )an?|four) (?:milliseconds?|seconds?|minutes?|hours?|fifths|tenths)\\b',
  ].join('|'),
  'gi',
)

/** The numbers that a phrase may mean: times in milliseconds, sizes in bytes. */
function meanings(text: string): readonly number[] {
  const tokens = text.replaceAll(/[()]/g, '').split(/[ -]/)
  const last = tokens.at(-1)!
  const units = unitOf[last] ?? unitOf[last.replace(/s$/, '').toLowerCase()] ?? [1]
  const part = parts.find(([of]) => of.test(text))
  if (part) return units.map((one) => part[1] * one)
  const numbers = tokens.flatMap((token) => {
    const small = token.toLowerCase()
    if (/^\d/.test(small)) return [Number(small.replaceAll(/[,_]/g, ''))]
    const at = wordsFor.indexOf(small)
    return at > 0 ? [at] : (tens[small] ?? large[small] ?? [])
  })
  const value = numbers.length === 0 ? 1 : numbers.reduce((product, one) => product * one, 1)
  return units.map((one) => value * one)
}

/** The sentences of a file: of YAML the comments and descriptions. */
function sentencesOf(file: string, text: string): string {
  const lines = text.split('\n')
  const told = file.endsWith('.md') ? lines : lines.filter((line) => /#|description:|title:/.test(line))
  return told.map((line) => line.replace(/^\s*#\s?/, '').trim()).join(' ')
}

const advice = 'what somebody should do, not what the program does'
const ways = 'an example of what is written'

const days = 86_400 * seconds
const leastDays = days * constant('packages/audit/src/keeping/removal.ts', 'leastDays')

/** By file: each phrase with a number that stands there, and what it is; `*`: why no other number there is a limit. */
const claims: Readonly<Record<string, Readonly<Record<string, Claim>>>> = {
  'README.md': {
    '1 to 255 visible ASCII characters': source('src/mcp/tools.ts', '[\\x21-\\x7e]{1,'),
    'port 443': 'of https',
    'port 8787': setting('server.port'),
    '26 KB': 'measured',
    'four charts': 'a picture',
    'a second': constant('packages/site/src/site.ts', 'patienceMilliseconds'),
    'five seconds': constant('packages/audit/src/writing.ts', 'patienceMilliseconds'),
    'thirty days': leastDays,
    'up to 200,000 documents': constant('src/control/doctor/state.ts', 'manyDocuments'),
    '8 MB': constant('src/house/foundation.ts', 'reserveBytes'),
  },
  'config/README.md': {
    'at most 15 digits': constant('src/core/values.ts', 'mostDigits'),
    '(2 without saying)': source('src/documents/values.ts', "currency: { type: 'decimal', places: "),
    '15 digits': constant('src/core/values.ts', 'mostDigits'),
    'at least 20 characters': source(
      'src/tools/own/own-schema.ts',
      "description: business({ type: 'string', minLength: ",
    ),
    '60 seconds': seconds * constant('src/oauth/tokens/id-tokens.ts', 'assertionSeconds'),
    'half a minute':
      constant('packages/modules/src/process.ts', 'mostLoading') *
      constant('packages/modules/src/process.ts', 'tickMilliseconds'),
    'up to five minutes': constant('packages/site/src/watched.ts', 'longestPause'),
  },
  'config/settings.yaml': {
    'a second': constant('packages/front/src/waiting-line.ts', 'burst'),
    'a quarter of a second': constant('packages/front/src/waiting-line.ts', 'patience'),
    'four fifths': constant('packages/front/src/places.ts', 'anonymousShare'),
    'Ten times': constant('packages/front/src/held-connections.ts', 'aPlace'),
    'at most 100 kB': constant('src/settings/company-logo.ts', 'mostBytes'),
    'at most 60': most('oauth.code_seconds'),
    'at most 1000': most('mcp.page_size'),
    'ten milliseconds': constant('src/oauth/rate-limits.ts', 'millisecondsOfPoint'),
    '30 days': leastDays,
    '262,144 characters': constant('packages/leaf/src/redact.ts', 'longestText'),
    'a quarter of an hour': seconds * constant('src/house/pulling.ts', 'mostSeconds'),
    'five minutes': constant('packages/sandbox/src/sql/sql.ts', 'idleMilliseconds'),
  },
  'config/doctypes/customer.yaml': {
    '(0 without saying)': source('src/documents/platform/read-doctypes.ts', 'rule.levels ?? ['),
  },
  'config/users.yaml': { '403 roles': 'a status' },
  'templates/clinic/config/users.yaml': { '403 roles': 'a status' },
  'templates/minimal/config/users.yaml': { '403 roles': 'a status' },
  'templates/clinic/prompts/': { '*': advice },
  'templates/clinic/skills/': { '*': advice },
  'prompts/': { '*': advice },
  'prompts/README.md': {
    'ten times': setting('rate_limits.write.points'),
    '200 templates': setting('library.max_drafts_per_user'),
    '5 MiB': setting('library.max_draft_bytes_per_user'),
    '50 ms': constant('src/library/prompts/render.ts', 'siteMilliseconds'),
    'at most 20': constant('src/library/writing/writing-rules.ts', 'mostTests'),
  },
  'skills/README.md': {
    'at most 1024 characters': source(
      'src/library/skill-files.ts',
      "description: { type: 'string', minLength: 1, maxLength: ",
    ),
    'at most 512 files': constant('src/library/skill-files.ts', 'mostFiles'),
    '16 MiB': constant('src/library/skill-files.ts', 'mostBytes'),
  },
  'skills/drawing-charts/SKILL.md': { 'at most six groups': advice },
  'skills/finding-documents/SKILL.md': {
    'More than five rows': constant('src/tools/gate/tabled.ts', 'handful'),
  },
  'skills/finding-documents/references/filters.md': { '30 days': ways, '7 days': ways },
  'skills/sales-follow-up/SKILL.md': { '*': advice },
  'skills/understanding-doctypes/SKILL.md': { 'Two calls': advice },
  'docs/several-daemons.md': {
    '250 ms': source('packages/state/src/postgres/ledger/ledger.ts', "set_config('lock_timeout', '"),
    '20 s': constant('src/house/daemons.ts', 'beatMilliseconds'),
    '5 s': source('packages/state/src/postgres/store.ts', 'lookMilliseconds = '),
    'five seconds': constant('packages/state/src/postgres/telling/announcements.ts', 'othersMilliseconds'),
    'at least two': constant('packages/state/src/postgres/servers/database.ts', 'fewestConnections'),
    'a minute': source('packages/state/src/postgres/servers/options.ts', 'startMilliseconds = '),
    '*': 'measured, or reckoned from it',
  },
  'docs/your-own-database.md': {
    'at most 20,000 rows': source('packages/state/src/postgres/others/table-layout.ts', 'mostTested = '),
    'more than 10,000 rows': constant('src/documents/sources/rule-problems.ts', 'large'),
    '(10 when left out)': constant('packages/sources/src/source-limits.ts', 'defaultSeconds'),
    'over forty': 'of another product',
  },
  'systemd/README.md': {
    'Ten minutes': 'what it takes somebody',
    'thirty days': days * source('systemd/assistant-core-backup.service', '-mtime +'),
  },
  'command users.invite': { '3 days': seconds * constant('src/control/users.ts', 'linkSeconds') },
  'command users.reset': { '3 days': seconds * constant('src/control/users.ts', 'linkSeconds') },
  'tool list_documents': {
    'up to 10,000': constant('src/documents/asking/reading.ts', 'mostCounted'),
    'default 20': constant('src/documents/asking/reading.ts', 'defaultLimit'),
  },
  'tool bulk_update': { 'up to 500 documents': constant('src/documents/writing/updating.ts', 'mostInBulk') },
  'tool aggregate': { 'default 100': source('src/documents/asking/aggregating.ts', ', limit = ') },
  'tool search_documents': { 'default 20': source('src/tools/reading/search-documents.ts', ', limit = ') },
  'tool search_doctype': { 'default 20': source('src/tools/reading/search-doctype.ts', ', limit = ') },
  'tool get_pending_approvals': {
    'Default 50': source('src/tools/reading/get-pending-approvals.ts', ', limit = '),
  },
  'tool attach_file': { '2 MB': constant('src/documents/belongings.ts', 'maxAttachmentBytes') },
  'tool search_audit': { 'default 20': constant('src/tools/reading/search-audit.ts', 'defaultLimit') },
  'tool query_and_analyze': {
    'default 100': source('src/tools/analysing/query-and-analyze.ts', ', limit = '),
  },
  'tool run_database_query': {
    'default 100': source('src/tools/analysing/query-and-analyze.ts', ', limit = '),
  },
  'tool run_python_code': {
    'Default 100': source('src/tools/analysing/run-python-code.ts', ', limit = '),
    'default 30': setting('analysis.python.timeout_seconds'),
  },
  'tool extract_file_content': {
    'Default 50': source('src/tools/reading/extract-file-content.ts', 'max_pages: maxPages = '),
    'Default 200': source('src/tools/reading/extract-file-content.ts', 'wanted.row_limit ?? '),
  },
}

/** What a schema tells of its members. */
function toldIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) =>
    /^(description|x-asked)$/.test(key) && typeof item === 'string' ? [item] : toldIn(item),
  )
}

function commandTexts(): [string, string][] {
  return Object.values(operations).map(({ name, does = '', input }) => [
    `command ${name}`,
    [does, ...toldIn(input)].join(' | '),
  ])
}

function toolTexts(): [string, string][] {
  const engine = {
    versions: { python: '3.11', pandas: '2' },
    seconds: { usual: defaultSandboxSettings().python.timeout_seconds, most: 300 },
  } as never
  const tools: readonly Tool[] = [
    ...builtInTools,
    searchAuditTool({} as never, systemClock),
    analyzeBusinessData,
    ...queryAndAnalyze(engine, engine),
    runPythonCode(engine),
    extractFileContent(engine),
    createDashboardChart(engine, systemClock),
    createDashboard,
    listUserDashboards(engine, systemClock),
  ]
  return tools.map(({ name, description, input }) => {
    return [`tool ${name}`, [description, ...toldIn(input)].join(' | ')]
  })
}

describe('numbers in shipped sentences', () => {
  it('are those of the program, or say why they are none of its limits', () => {
    const wrong: string[] = []
    const unused = new Set(
      Object.entries(claims).flatMap(([file, of]) => Object.keys(of).map((one) => `${file}: ${one}`)),
    )
    let compared = 0
    for (const [file, text] of [
      ...texts().map(([name, of]) => [name, sentencesOf(name, of)] as const),
      ...toolTexts(),
      ...commandTexts(),
    ]) {
      const folder = Object.keys(claims).find((one) => one.endsWith('/') && file.startsWith(one)) ?? ''
      const at = claims[file] ? file : folder
      for (const [told] of text.matchAll(phrase)) {
        const isTold = (one: string): boolean => one.toLowerCase() === told.toLowerCase()
        const name = Object.keys(claims[at] ?? {}).find(isTold) ?? '*'
        const claim = claims[at]?.[name]
        unused.delete(`${at}: ${name}`)
        if (claim === undefined) wrong.push(`${file}: "${told}" is not compared with the program`)
        if (typeof claim !== 'number') continue
        compared++
        if (!meanings(told).some((one) => Math.abs(one - claim) < 1e-9))
          wrong.push(`${file}: "${told}", but it is ${claim}`)
      }
    }
    assert.deepEqual(wrong, [])
    assert.deepEqual([...unused], [], 'no longer told')
    assert.ok(compared >= 50, String(compared))
  })
})
