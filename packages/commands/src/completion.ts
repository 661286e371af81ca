/** The completion scripts of shells, made from the commands. */
import type { Command } from './command.ts'

/** The known shells, each with the function that writes its script. */
export const completionScripts = { bash, zsh, fish }

/** Returns shell code that finds how many words of `words` are a command, and looks it up in a line for each command. */
function lookUp(words: string, program: Command, line: (command: Command) => string): string {
  const cases = program.every.map((command) => [`'${command.path.join(' ')}'`, line(command)] as const)
  // The variable is not called path: in zsh that is PATH.
  return `  local typed='' word
  for word in ${words}; do
    case "\${typed:+$typed }$word" in
      ${cases
        .map(([path]) => path)
        .slice(1)
        .join('|')}) typed="\${typed:+$typed }$word" ;;
    esac
  done
  case $typed in
${cases.map(([path, found]) => `    ${path}) ${found} ;;`).join('\n')}
  esac`
}

/** Returns the options of a command, and those of the program, which may stand anywhere. */
function optionsOf(command: Command) {
  return [...command.options, ...(command.parent ? command.program.options : [])]
}

function bash(program: Command): string {
  const line = (command: Command): string => {
    const options = optionsOf(command).flatMap(({ long, short }) => [long, short].filter(Boolean))
    return `words='${[...command.commands.map((child) => child.name()), ...options].join(' ')}'`
  }
  const name = program.name()
  return `# bash completion for ${name}
${functionOf(program)}() {
  local words=''
${lookUp('"${COMP_WORDS[@]:1:COMP_CWORD-1}"', program, line)}
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F ${functionOf(program)} ${name}
`
}

function zsh(program: Command): string {
  const told = (word: string, does: string): string => quoted(`${word}:${does.replaceAll(':', '\\:')}`)
  const line = (command: Command): string => {
    const commands = command.commands.map((child) => told(child.name(), child.description()))
    const options = optionsOf(command).map(({ long, short, description }) =>
      told(long ?? short!, description),
    )
    return `commands=(${commands.join(' ')}); options=(${options.join(' ')})`
  }
  return `#compdef ${program.name()}
${functionOf(program)}() {
  local -a commands options
${lookUp('${words[2,CURRENT-1]}', program, line)}
  if [[ $PREFIX == -* ]]; then _describe option options
  elif (( \${#commands} )); then _describe command commands
  else _files
  fi
}
${functionOf(program)} "$@"
`
}

function fish(program: Command): string {
  const lines = program.every.flatMap(({ path, commands, options }) => {
    const within = path.map((word) => `__fish_seen_subcommand_from ${word}`)
    const none = `not __fish_seen_subcommand_from ${commands.map((child) => child.name()).join(' ')}`
    const where = (tests: readonly string[]): string =>
      tests.length === 0 ? '' : ` -n ${quoted(tests.join('; and '))}`
    return [
      ...commands.map(
        (one) => `-f${where([...within, none])} -a ${one.name()} -d ${quoted(one.description())}`,
      ),
      ...options.map(({ long, short, required, description }) => {
        const names = `${long ? `-l ${long.slice(2)} ` : ''}${short ? `-s ${short.slice(1)} ` : ''}${required ? '-r ' : ''}`
        return `${where(within)} ${names}-d ${quoted(description)}`.trim()
      }),
    ]
  })
  const name = program.name()
  return [`# fish completion for ${name}`, ...lines.map((one) => `complete -c ${name} ${one}`), ''].join('\n')
}

/** Returns the name of the shell function that completes. */
function functionOf(program: Command): string {
  return `_${program.name().replaceAll('-', '_')}`
}

/** Quotes a text in single quotes for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
