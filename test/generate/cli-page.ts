// Makes the tables of docs/cli.md from the definitions that `--help` shows. The rest of the page is written by hand.

import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { type Command, Help } from 'commander';
import { createProgram, EXIT_CODES } from '../../src/cli/program.ts';
import { table } from './markdown-table.ts';

const ownStart = () => ({ command: 'dpp-sync', configFile: null });
const run = () => Promise.resolve();
const programFor = (...argv: string[]): Promise<Command> =>
  createProgram({ version: '0', stdout: new PassThrough(), stderr: new PassThrough(), ownStart, argv, run });

/** Every command of the list; none of them is loaded. */
const program = await programFor();
const loaded = await Promise.all(
  program.commands.map(async (listed, at) => (await programFor(listed.name())).commands[at] ?? listed),
);
const help = new Help();

interface Documented {
  /** The names that lead to it. */
  name: string;
  /** The same with its arguments. */
  term: string;
  command: Command;
}

/** Every command that does something by itself. */
function documentedOf(parents: readonly Command[], prefix = ''): Documented[] {
  return parents.flatMap((command) => {
    const name = `${prefix}${command.name()}`;
    const verbs = documentedOf(command.commands, `${name} `);
    const isGroup = verbs.length > 0 && command.options.length === 0;
    const term = `${prefix}${help.subcommandTerm(command).replace(' [options]', '')}`;
    return isGroup ? verbs : [{ name, term, command }, ...verbs];
  });
}

export const documentedCommands = documentedOf(loaded);

/** Matches a table of this file. Other tables of the page are written by hand. */
const TABLE = /^\| (?:option|code|command) \| (?:does|means) \|\n(?:\|.*\n)+/m;

/** The tables by the heading that they are below. */
const tables = new Map([
  ['Global options', optionTable({ options: help.visibleOptions(program) })],
  [
    'Exit codes',
    table(
      ['code', 'means'],
      EXIT_CODES.map((means, code) => [String(code), means]),
    ),
  ],
  ['Commands', table(['command', 'does'], documentedCommands.map(commandRow))],
  ...documentedCommands
    .filter(({ command }) => command.options.length > 0)
    .map(({ term, command }) => [term, optionTable(command)] as const),
]);

/** The description has the choices and the default, as in the help. */
function optionTable({ options }: Pick<Command, 'options'>): string {
  const rows = options
    .filter(({ hidden }) => !hidden)
    .map((option) => [`\`${option.flags}\``, marked(help.optionDescription(option))]);
  return table(['option', 'does'], rows);
}

/** A text of the help with code marks around quoted values and options. */
function marked(text: string): string {
  return text
    .replaceAll(/"([^"]*)"/g, '`$1`')
    .replaceAll(/`[^`]*`|(?<!\S)--[a-z-]+/g, (piece) => (piece.startsWith('`') ? piece : `\`${piece}\``));
}

function commandRow({ term, command }: Documented): [string, string] {
  const anchor = term.replaceAll(/[^a-z -]/g, '').replaceAll(' ', '-');
  return [`[\`${term}\`](#${anchor})`, marked(command.description())];
}

/** The page with its tables made again. */
export function cliPage(): string {
  const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
  return page
    .split(/^(?=##)/m)
    .map(withTable)
    .join('');
}

function withTable(part: string): string {
  const heading = /^#+ `?(.*?)`?$/m.exec(part)?.[1] ?? '';
  const made = tables.get(heading);
  if ((made !== undefined) !== TABLE.test(part))
    throw new Error(`docs/cli.md, ${heading}: there has to be a table exactly if the command has options.`);
  return made === undefined ? part : part.replace(TABLE, () => `${made}\n`);
}
