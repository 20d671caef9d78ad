import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';

/** An installed Node that is too old for the program, or undefined if there is none. */
export const oldNode: string | undefined = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((node) => {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
    // `stdout` is null if the file does not exist.
    const [major = 0, minor = 0] = (stdout ?? '').replace('v', '').split('.').map(Number);
    return major > 0 && (major < 22 || (major === 22 && minor < 19));
  });

/** Node options that make Node report an old version. */
export const PRETEND_OLD = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.11.1'}})",
  )}`,
};
