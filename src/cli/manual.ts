/** `assistant-core manual`: the manual page, generated from the command tree. */
import type { Command } from './command.ts'
import { version } from '../core/version.ts'
import { commandTree, everyCommand, type CommandNode } from './command-tree.ts'
import { write } from './output.ts'

/** Adds the command; it must come after the others, so that it sees them. */
export function addManualCommand(program: Command): void {
  program
    .command('manual')
    .description('print the manual page')
    .example('manual | man -l -')
    .action(() => write(manualPage(commandTree(program))))
}

/** The page as roff source. */
export function manualPage(root: CommandNode): string {
  // Only commands that can be run: `users` alone is a word on the way.
  const commands = everyCommand(root).filter((node) => node.path.length > 0 && node.commands.length === 0)
  return [
    `.TH ASSISTANT-CORE 1 "" "assistant-core ${version}" "User Commands"`,
    '.SH NAME',
    roff(`assistant-core - ${root.description}`),
    '.SH SYNOPSIS',
    '.B assistant-core',
    '.I COMMAND',
    '[\\fIOPTION\\fR]...',
    '.SH OPTIONS',
    'These may stand before or after the command.',
    ...optionLines(root),
    '.SH COMMANDS',
    ...commands.flatMap((node) => [
      '.SS',
      `\\fBassistant-core ${roff(node.path.join(' '))}\\fR ${roff(node.usage)}`,
      roff(`${node.description[0]?.toUpperCase() ?? ''}${node.description.slice(1)}.`),
      ...optionLines(node),
      ...exampleLines(node),
    ]),
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

function optionLines(node: CommandNode): string[] {
  return node.options.map((option) => `.TP\n\\fB${roff(option.flags)}\\fR\n${roff(option.description)}`)
}

function exampleLines({ examples }: CommandNode): string[] {
  return examples.length === 0 ? [] : ['.PP', '.nf', ...examples.map(roff), '.fi']
}

/** Text as roff reads it: hyphens are minus signs, a line never begins with a control character. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1')
}
