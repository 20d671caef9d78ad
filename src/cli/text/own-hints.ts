import { shellValue } from '../../lib/text/safe-text.ts';
import { COMMANDS } from '../command-list.ts';

/** The command with which the reader starts this program from the same folder, with the same config. */
export interface OwnStart {
  /** The name of the program in the form that people type into a shell. */
  command: string;
  /** The config file in the form of the command line; `null` for the default. */
  configFile: string | null;
}

/** The config file of a command without `-c`. */
export const DEFAULT_CONFIG = 'dpp-sync.yaml';

const namesOf = (isWithout: boolean): string =>
  COMMANDS.filter(({ withoutConfig = false }) => withoutConfig === isWithout)
    .map(({ term }) => term.split(' ', 1)[0])
    .join('|');
/**
 * A command in a text, also after the code of a colour. A command between double quotes only names a process; the
 * reader need not run it.
 */
const HINT = new RegExp(
  `(?<=^|[^\\w"./-]|\\u001b\\[\\d+m)dpp-sync (?:(${namesOf(false)})|(${namesOf(true)}|--help))(?![\\w-])`,
  'g',
);

/** Converts every command in a text to the form that the reader can paste into a shell. */
export function withOwnCommands(text: string, start: () => OwnStart): string {
  return text.replaceAll(HINT, (_, needy: string | undefined, other: string | undefined) => {
    const { command, configFile } = start();
    const config = needy === undefined || configFile === null ? '' : `-c ${shellValue(configFile)} `;
    return `${command} ${config}${needy ?? other}`;
  });
}
