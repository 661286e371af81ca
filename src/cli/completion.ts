/** `assistant-core completion SHELL`: completion scripts, generated from the command tree. */
import { Argument } from 'commander'
import type { Command } from './command.ts'
import { commandTree, everyCommand, type CommandNode } from './command-tree.ts'
import { write } from './output.ts'

/** The shells that are known, each with the function that writes its script. */
const generators = { bash, zsh, fish }

/** Adds the command; it must be the last one, so that it sees all others. */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .example(
      'completion bash > /etc/bash_completion.d/assistant-core',
      'completion zsh > "${fpath[1]}/_assistant-core"',
      'completion fish > ~/.config/fish/completions/assistant-core.fish',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(generators)))
    .action((shell: keyof typeof generators) => write(generators[shell](commandTree(program))))
}

/** What may follow a command: its subcommands, its options and those of the program. */
function wordsAfter(node: CommandNode, root: CommandNode): string[] {
  const options = [...node.options, ...(node === root ? [] : root.options)].flatMap((option) => [
    option.long,
    option.short,
  ])
  return [
    ...node.commands.map((child) => child.path.at(-1)!),
    ...options.filter((word) => word !== undefined),
  ]
}

/** The script for bash. */
export function bash(root: CommandNode): string {
  const cases = everyCommand(root).map(
    (node) => `    '${node.path.join(' ')}') words='${wordsAfter(node, root).join(' ')}' ;;`,
  )
  return `# bash completion for assistant-core
_assistant_core() {
  local word=\${COMP_WORDS[COMP_CWORD]} path='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      -*) ;;
      *) case "\${path:+$path }\${COMP_WORDS[i]}" in
${commandPatterns(root, 'path', '${COMP_WORDS[i]}')}
         esac ;;
    esac
  done
  case $path in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _assistant_core assistant-core
`
}

/** A case that goes on with a known path of commands, in a variable, by the next word. */
function commandPatterns(root: CommandNode, variable: string, word: string): string {
  const paths = everyCommand(root)
    .filter((node) => node.path.length > 0)
    .map((node) => `'${node.path.join(' ')}'`)
  return `           ${paths.join('|')}) ${variable}="\${${variable}:+$${variable} }${word}" ;;`
}

/** The script for zsh. */
export function zsh(root: CommandNode): string {
  const cases = everyCommand(root).map((node) => {
    const commands = node.commands.map((child) =>
      quoted(`${child.path.at(-1)}:${child.description.replaceAll(':', '\\:')}`),
    )
    const options = [...node.options, ...(node === root ? [] : root.options)].flatMap((option) =>
      option.long ? [quoted(`${option.long}:${option.description.replaceAll(':', '\\:')}`)] : [],
    )
    return `    '${node.path.join(' ')}') commands=(${commands.join(' ')}); options=(${options.join(' ')}) ;;`
  })
  return `#compdef assistant-core
_assistant_core() {
  # Not called path: in zsh that is PATH.
  local typed='' word
  local -a commands options
  for word in \${words[2,CURRENT-1]}; do
    case "\${typed:+$typed }$word" in
${commandPatterns(root, 'typed', '$word')}
    esac
  done
  case $typed in
${cases.join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then _describe option options
  elif (( \${#commands} )); then _describe command commands
  else _files
  fi
}
_assistant_core "$@"
`
}

/** The script for fish. */
export function fish(root: CommandNode): string {
  const lines = ['# fish completion for assistant-core']
  for (const node of everyCommand(root)) {
    const children = node.commands.map((child) => child.path.at(-1)!)
    const seen = node.path.map((word) => `__fish_seen_subcommand_from ${word}`)
    const here = [
      ...seen,
      ...(children.length > 0 ? [`not __fish_seen_subcommand_from ${children.join(' ')}`] : []),
    ].join('; and ')
    const condition = here === '' ? '' : ` -n ${quoted(here)}`
    for (const child of node.commands)
      lines.push(
        `complete -c assistant-core -f${condition} -a ${child.path.at(-1)} -d ${quoted(child.description)}`,
      )
    const within = seen.length === 0 ? '' : ` -n ${quoted(seen.join('; and '))}`
    for (const option of node.options) {
      if (!option.long) continue
      const short = option.short ? ` -s ${option.short.slice(1)}` : ''
      const value = option.takesValue ? ' -r' : ''
      lines.push(
        `complete -c assistant-core${within} -l ${option.long.slice(2)}${short}${value} -d ${quoted(option.description)}`,
      )
    }
  }
  return `${lines.join('\n')}\n`
}

/** A text for single quotes of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
