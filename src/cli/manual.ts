/** `assistant-core manual`: prints the manual page, generated from the command tree. */
import { takes } from '../control/input.ts'
import { version } from '../core/version.ts'
import { defineCommand, type Command } from './command.ts'
import { write } from './output.ts'

/** `assistant-core manual`. */
export const manualCommand = defineCommand({
  name: 'manual',
  does: 'print the manual page',
  examples: ['manual | man -l -'],
  input: takes({}),
  run: (_params, _options, command) => write(manualPage(command.program)),
})

/** Returns the page as roff source. */
export function manualPage(program: Command): string {
  // Only commands that can run are listed: `users` alone is only a group.
  const commands = program.every.filter((command) => command.commands.length === 0)
  return [
    `.TH ASSISTANT-CORE 1 "" "assistant-core ${version}" "User Commands"`,
    '.SH NAME',
    roff(`assistant-core - ${program.description()}`),
    '.SH SYNOPSIS',
    '.B assistant-core',
    '.I COMMAND',
    '[\\fIOPTION\\fR]...',
    '.SH OPTIONS',
    'These may stand before or after the command.',
    ...optionLines(program),
    '.SH COMMANDS',
    ...commands.flatMap((command) => commandLines(command)),
    '.SH EXIT STATUS',
    '.TP\n.B 0\nDone.',
    '.TP\n.B 1\nFailed; the reason is on standard error.',
    '.TP\n.B 2\nWrong usage.',
    '.TP\n.B 78\nThe site is wrong; every fault is on standard error as file:line:column path: fault.',
    '.SH ENVIRONMENT',
    '.TP\n.B ASSISTANT_CORE_SITE\nThe folder of the site.',
    '.TP\n.B ASSISTANT_CORE_STATE\nThe folder of the state.',
    '.TP\n.B ASSISTANT_CORE_PUBLIC_URL\nThe address that clients use.',
    '.TP\n.B NO_COLOR\nWhen set, nothing is printed in colour.',
    '.SH SIGNALS',
    '.TP\n.B SIGHUP\nThe daemon reads its site again; one that was started on a terminal stops.',
    '.TP\n.B SIGTERM, SIGINT\nThe daemon lets running requests end and stops.',
    '',
  ].join('\n')
}

function commandLines(command: Command): string[] {
  const [first = '', ...rest] = command.description()
  const places = command.registeredArguments.map((one) =>
    one.required ? `<${one.name()}>` : `[${one.name()}]`,
  )
  return [
    '.SS',
    `\\fBassistant-core ${roff(command.path.join(' '))}\\fR ${roff(places.join(' '))}`,
    roff(`${first.toUpperCase()}${rest.join('')}.`),
    ...optionLines(command),
    '.PP',
    '.nf',
    ...command.examples.map(roff),
    '.fi',
  ]
}

function optionLines({ options }: Command): string[] {
  return options.map(({ flags, description }) => `.TP\n\\fB${roff(flags)}\\fR\n${roff(description)}`)
}

/** Escapes text for roff: hyphens are minus signs, a line never begins with a control character. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1')
}
