import { Command as CommanderCommand } from 'commander'

/** The sections of a manual page behind those of the commands: words with what each means. */
export type Sections = Readonly<Record<string, Readonly<Record<string, string>>>>

/** A Commander command with its examples: help shows them, the manual page prints them, a test runs over them. */
export class Command extends CommanderCommand {
  /** The examples as in a terminal, so that a command differs from its output. */
  examples: readonly string[] = []
  /** Of the program: what its manual page tells besides. */
  sections: Sections = {}
  declare readonly commands: readonly Command[]
  declare readonly parent: Command | null

  override createCommand(name?: string): Command {
    return new Command(name)
  }

  /** The words after the program's name; empty for the program itself. */
  get path(): readonly string[] {
    return this.parent ? [...this.parent.path, this.name()] : []
  }

  /** The program that the command belongs to. */
  get program(): Command {
    return this.parent?.program ?? this
  }

  /** The command and all below it, in reading order. */
  get every(): readonly Command[] {
    return [this, ...this.commands.flatMap((child) => child.every)]
  }
}
