/** The command tree as data: what completion scripts, the manual page and the help test are made from. */
import type { Option } from 'commander'
import type { Command } from './command.ts'

/** A command with all that is below it. */
export interface CommandNode {
  /** The words after the program's name; empty for the program itself. */
  readonly path: readonly string[]
  readonly description: string
  /** `<id>`, `[file...]`, as help prints them. */
  readonly usage: string
  readonly options: readonly OptionNode[]
  readonly commands: readonly CommandNode[]
  readonly examples: readonly string[]
}

/** An option of a command; `flags` is how help prints it. */
export interface OptionNode {
  readonly short?: string
  readonly long?: string
  readonly flags: string
  readonly description: string
  /** Whether a value follows. */
  readonly takesValue: boolean
  readonly choices: readonly string[]
}

/** Reads the tree of a program. */
export function commandTree(command: Command, path: readonly string[] = []): CommandNode {
  return {
    path,
    description: command.description(),
    usage: command.registeredArguments
      .map((argument) => (argument.required ? `<${argument.name()}>` : `[${argument.name()}]`))
      .join(' '),
    // What help does not tell, completion must not offer.
    options: command.options.filter((option) => !option.hidden).map(optionNode),
    commands: command.commands.map((child) => commandTree(child, [...path, child.name()])),
    examples: command.examples,
  }
}

/** The tree in the order in which a person reads it: a command, then its subcommands. */
export function everyCommand(node: CommandNode): CommandNode[] {
  return [node, ...node.commands.flatMap(everyCommand)]
}

function optionNode(option: Option): OptionNode {
  return {
    ...(option.short && { short: option.short }),
    ...(option.long && { long: option.long }),
    flags: option.flags,
    description: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
  }
}
