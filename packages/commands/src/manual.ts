import type { Command } from './command.ts'

/** Returns the manual page of a program, made from its commands, as roff source. */
export function manualPage(program: Command): string {
  // Only commands that can run are listed: `users` alone is only a group.
  const commands = program.every.filter((command) => command.commands.length === 0)
  const name = program.name()
  return [
    `.TH ${name.toUpperCase()} 1 "" "${name} ${program.version()}" "User Commands"`,
    '.SH NAME',
    roff(`${name} - ${program.description()}`),
    '.SH SYNOPSIS',
    `.B ${name}`,
    '.I COMMAND',
    '[\\fIOPTION\\fR]...',
    '.SH OPTIONS',
    'These may stand before or after the command.',
    ...optionLines(program),
    '.SH COMMANDS',
    ...commands.flatMap((command) => commandLines(command)),
    ...Object.entries(program.sections).flatMap(([title, told]) => [
      `.SH ${title}`,
      ...Object.entries(told).map(([word, means]) => `.TP\n.B ${word}\n${means}`),
    ]),
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
    `\\fB${command.program.name()} ${roff(command.path.join(' '))}\\fR ${roff(places.join(' '))}`,
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
