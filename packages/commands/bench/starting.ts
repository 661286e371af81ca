/** What a command costs before its work: a program of 100 commands is made, and one of them runs. `node --import tsx packages/commands/bench/starting.ts` */
import process from 'node:process'
import { commandsWith, takes } from '#commands/description.ts'
import { programOf, runProgram } from '#commands/program.ts'
import { table } from '../../../bench/server-process.ts'

interface Options {
  readonly json: boolean
}

const rounds = Number(process.argv[2] ?? 200)
const defineCommand = commandsWith<Options>()
let ran = 0
const commands = Array.from({ length: 100 }, (_, at) =>
  defineCommand({
    name: `group${at % 10} do${at}`,
    does: 'do one of many things',
    input: takes({ name: '<name>', user: '--user <user>: for whom', count: '-n <count>: how many' }),
    run: async ({ count }) => void (ran += count ?? 0),
  }),
)
const groups = Array.from({ length: 10 }, (_, group) => {
  const words = commands.flatMap(({ name }) =>
    name.startsWith(`group${group} `) ? [name.split(' ')[1]!] : [],
  )
  return [words.join(' '), `group${group}`, 'a group'] as const
})
const make = () =>
  programOf<Options>({
    name: 'bench',
    does: 'nothing of use',
    version: '1',
    options: {},
    read: ({ json }) => ({ json: json === true }),
    commands,
    outline: [...groups, ['completion manual']],
    exits: {},
    sections: {},
    after: '',
  })

const run = () => runProgram(['node', 'bench', 'group3', 'do33', 'x', '-n', '1'], make)
const since = (used: NodeJS.CpuUsage, count: number): string => {
  const { user, system } = process.cpuUsage(used)
  return ((user + system) / count / 1000).toFixed(2)
}
process.stdout.setMaxListeners(0)
let used = process.cpuUsage()
await run()
const first = since(used, 1)
used = process.cpuUsage()
for (let round = 0; round < rounds; round++) await run()
if (ran !== rounds + 1) throw new Error(`${ran} commands ran`)
table(['the first run of one of 100 commands, ms', 'each later one, ms'], [[first, since(used, rounds)]])
