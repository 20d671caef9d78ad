import { existsSync, realpathSync } from 'node:fs';
import { basename, delimiter, dirname, join, relative, sep } from 'node:path';
import type { Environment } from '../config/environment.ts';
import { shellValue } from '../lib/text/shell-word.ts';

/** The facts about the start of this process. */
export interface Start {
  /** The file that Node was started with: the launcher, or a link to it. */
  file: string;
  cwd: string;
  /** The `PATH` of the environment. */
  path: string;
  /** The folder of this package. */
  root: string;
}

const NAME = 'dpp-sync';

/** The command that starts this program again from the same folder, in the form that people type into a shell. */
export function ownCommand({ file, cwd, path, root }: Start): string {
  if (cwd === root && existsSync(join(root, 'src', 'main.ts'))) return 'npm run -s dpp-sync --';
  if (isOnPath(file, path)) return NAME;
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
  return ownCommand({ file: process.argv[1] ?? '', cwd, path: env['PATH'] ?? '', root });
}

/**
 * Whether a shell finds the file by its name. npm adds folders of `node_modules` only to the PATH of its own child
 * processes.
 */
function isOnPath(file: string, path: string): boolean {
  const folders = path
    .split(delimiter)
    .filter((folder) => folder !== '' && basename(dirname(folder)) !== 'node_modules');
  const found = folders.map((folder) => join(folder, NAME)).find((candidate) => existsSync(candidate));
  return found !== undefined && realpathSync(found) === realpathSync(file);
}
