// The names that a config gives a file.

import { basename, dirname, extname, relative, resolve, sep } from 'node:path';

/** The name of the file as the name of a stream: letters, digits and dashes. */
export function streamName(path: string): string {
  const name = basename(path)
    .replace(/\.(?:gz|zip)$/i, '')
    .replace(extname(path.replace(/\.(?:gz|zip)$/i, '')), '')
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z]+/, '')
    .replace(/-+$/, '')
    .slice(0, 64);
  return name === '' ? 'records' : name;
}

/** The path of a file in a config: relative to the config's folder, with slashes. */
export function pathFromConfig(file: string, configFile: string): string {
  const found = relative(dirname(resolve(configFile)), file)
    .split(sep)
    .join('/');
  return found.startsWith('../') || found.startsWith('/') ? found : `./${found}`;
}
