import { Command as CommanderCommand } from 'commander'

/** A command that brings its examples along: help shows them, the manual page prints them, a test runs over them. */
export class Command extends CommanderCommand {
  /** As in a terminal, so that an example can be told from its output. */
  readonly examples: string[] = []
  declare readonly commands: readonly Command[]

  override createCommand(name?: string): Command {
    return new Command(name)
  }

  /** What to type, without the name of the program. */
  example(...lines: readonly string[]): this {
    const examples = lines.map((line) => `$ assistant-core ${line}`)
    this.examples.push(...examples)
    const title = examples.length === 1 ? 'Example' : 'Examples'
    return this.addHelpText('after', `\n${title}:\n${examples.map((one) => `  ${one}`).join('\n')}`)
  }
}
