import { existsSync, realpathSync } from 'node:fs';
import { basename, delimiter, dirname, join, relative, sep } from 'node:path';
import type { Environment } from '../config/environment.ts';
import { shellValue } from '../lib/text/safe-text.ts';
import { COMMANDS } from './command-list.ts';

/** The facts about the start of this process. */
interface Start {
  /** The file that Node was started with: the launcher, or a link to it. */
  file: string;
  cwd: string;
  /** The `PATH` of the environment. */
  path: string;
  /** True if a package manager started the process, as `npm run` and `npx` do. */
  byPackageManager: boolean;
  /** The folder of this package. */
  root: string;
}

const NAME = 'dpp-sync';

/** The command that starts this program again from the same folder, in the form that people type into a shell. */
export function ownCommand({ file, cwd, path, byPackageManager, root }: Start): string {
  if (cwd === root && existsSync(join(root, 'src', 'main.ts'))) return 'npm run -s dpp-sync --';
  if (isOnPath(file, path, byPackageManager)) return NAME;
  const inside = relative(cwd, file);
  const shown = shellValue(inside.startsWith('..') ? file : inside);
  // Only a link that npm has made is certainly executable. The shell would search the PATH for a name without a folder.
  if (basename(file) !== NAME) return `node ${shown}`;
  return shown.includes(sep) ? shown : `./${shown}`;
}

/** The command that starts this process again. */
export function commandHere(root: string, env: Environment): string {
  let cwd: string;
  try {
    cwd = process.cwd();
  } catch {
    // The working folder was deleted, so no shorter name can be found.
    return NAME;
  }
  return ownCommand({
    file: process.argv[1] ?? '',
    cwd,
    path: env['PATH'] ?? '',
    // npm, pnpm and yarn set it for every process that they start.
    byPackageManager: env['npm_config_user_agent'] !== undefined,
    root,
  });
}

/**
 * Whether the reader's shell finds the file by its name. A package manager adds folders of `node_modules` to the PATH of
 * its own child processes only. Without one, such a folder is in the PATH because the reader has put it there.
 */
function isOnPath(file: string, path: string, byPackageManager: boolean): boolean {
  const isOfShell = (folder: string) => !byPackageManager || basename(dirname(folder)) !== 'node_modules';
  const folders = path.split(delimiter).filter((folder) => folder !== '' && isOfShell(folder));
  const found = folders.map((folder) => join(folder, NAME)).find((candidate) => existsSync(candidate));
  return found !== undefined && realpathSync(found) === realpathSync(file);
}

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
