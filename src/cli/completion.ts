import { Argument, type Command } from 'commander';
import type { CommandContext, LoadedProgram, RunAction } from './context.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

const EXAMPLES = `
Examples:
  $ source <(dpp-sync completion bash)                                    in this shell
  $ dpp-sync completion bash > ~/.local/share/bash-completion/completions/dpp-sync
  $ dpp-sync completion zsh  > ~/.dpp-sync.zsh   then add to ~/.zshrc: source ~/.dpp-sync.zsh
  $ dpp-sync completion fish > ~/.config/fish/completions/dpp-sync.fish`;

interface Word {
  word: string;
  text: string;
}

/** The words that can follow a command, except names that are only in a config or a ledger. */
interface Choices {
  /** The names that lead to the command, such as `ledger backup`; empty for `dpp-sync` itself. */
  path: string;
  /** Commands and arguments. */
  words: Word[];
  options: OptionChoice[];
}

interface OptionChoice extends Word {
  /** Its short form, such as `-c`. */
  short: string | undefined;
  takesValue: boolean;
  /** Its possible values, if there are few. */
  values: readonly string[];
}

export function addCompletionCommand(program: Command, run: RunAction, loadAll: LoadedProgram): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell that reads the script').choices(SHELLS))
    .addHelpText('after', EXAMPLES)
    .action((shell: Shell) => run((context) => completion(shell, context, loadAll)));
}

async function completion(shell: Shell, { output }: CommandContext, loadAll: LoadedProgram): Promise<number> {
  const choices = choicesOf(await loadAll(), '');
  const script = shell === 'fish' ? fishScript(choices) : bashScript(choices, shell);
  if (output.json) output.document({ ok: true, shell, script });
  // A shell reads the script, so its lines are not fitted to a terminal.
  else await output.bytes(Buffer.from(`${script}\n`));
  return 0;
}

function choicesOf(command: Command, path: string, inherited: Choices['options'] = []): Choices[] {
  const commands = command.commands.map((one) => ({ word: one.name(), text: one.description() }));
  const values = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((word) => ({ word, text: description })),
  );
  const own = command.options.flatMap(({ long, short, description, required, argChoices = [] }) =>
    long ? [{ word: long, short, text: description, takesValue: required, values: argChoices }] : [],
  );
  const options = [...own, ...inherited];
  const below = command.commands.flatMap((one) =>
    choicesOf(one, path === '' ? one.name() : `${path} ${one.name()}`, options),
  );
  return [{ path, words: [...commands, ...values], options: [...options, HELP] }, ...below];
}

const HELP: OptionChoice = { word: '--help', short: '-h', text: 'show help', takesValue: false, values: [] };

function bashScript(choices: readonly Choices[], shell: 'bash' | 'zsh'): string {
  const words = choices.map(({ path, words, options }) =>
    caseOf(
      path,
      [...words, ...options].map(({ word }) => word),
    ),
  );
  const values = choices.flatMap(({ path, options }) =>
    options.filter((option) => option.values.length > 0).map(({ word, values }) => caseOf(`${path} ${word}`, values)),
  );
  const beforeFiles = choices.flatMap(({ path, options }) => {
    const names = options
      .filter(({ takesValue, values: known }) => takesValue && known.length === 0)
      .flatMap(({ word, short }) => (short === undefined ? [word] : [word, short]));
    return names.length === 0 ? [] : [`    ${names.map((name) => `'${path} ${name}'`).join('|')}) files=yes ;;`];
  });
  return [
    ...(shell === 'zsh' ? ['autoload -Uz compinit bashcompinit && compinit && bashcompinit'] : []),
    '_dpp_sync() {',
    '  local word candidate known path= words= files=',
    '  local last="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
    '  # Bash takes `--state=x` for three words.',
    '  [ "$last" = "=" ] && last=',
    '  [ "$previous" = "=" ] && previous="${COMP_WORDS[COMP_CWORD-2]}"',
    '  [ "${COMP_WORDS[COMP_CWORD]}" = "=" ] && previous="${COMP_WORDS[COMP_CWORD-1]}"',
    `  local paths=(${choices.map(({ path }) => `'${path}'`).join(' ')})`,
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    candidate="${path:+$path }$word"',
    '    for known in "${paths[@]}"; do [ "$known" = "$candidate" ] && path="$candidate"; done',
    '  done',
    '  case "$path $previous" in',
    ...values,
    ...beforeFiles,
    '  esac',
    '  [ -n "$words$files" ] || case "$path" in',
    ...words,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$last"))',
    '  [ "${#COMPREPLY[@]}" -gt 0 ] && return',
    '  # A name of a file may have a space.',
    "  local IFS=$'\\n'",
    '  COMPREPLY=($(compgen -f -- "$last"))',
    '}',
    'complete -o filenames -F _dpp_sync dpp-sync',
  ].join('\n');
}

function caseOf(pattern: string, words: readonly string[]): string {
  return `    '${pattern}') words='${words.join(' ')}' ;;`;
}

function fishScript(choices: readonly Choices[]): string {
  const lines = choices.flatMap(({ path, words, options }) => {
    const seen = path.split(' ').map((name) => `__fish_seen_subcommand_from ${name}`);
    const below =
      words.length === 0 ? [] : [`not __fish_seen_subcommand_from ${words.map(({ word }) => word).join(' ')}`];
    const condition = path === '' ? '__fish_use_subcommand' : [...seen, ...below].join('; and ');
    const optionLines = options.map(({ word, short, text, takesValue, values }) => {
      // Every command accepts the options of `dpp-sync` itself, so they need no condition.
      const when = path === '' ? '' : ` -n '${seen.join('; and ')}'`;
      const choice = values.length === 0 ? '' : ` -x -a '${values.join(' ')}'`;
      const file = takesValue && values.length === 0 ? ' -r' : '';
      const letter = short === undefined ? '' : ` -s ${short.slice(1)}`;
      return `complete -c dpp-sync${when}${letter} -l ${word.slice(2)}${choice}${file} -d ${quoted(text)}`;
    });
    return [
      ...words.map(({ word, text }) => `complete -c dpp-sync -n '${condition}' -a ${word} -d ${quoted(text)}`),
      ...optionLines,
    ];
  });
  return [...new Set(lines)].join('\n');
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
