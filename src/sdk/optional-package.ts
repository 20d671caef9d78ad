import { createRequire } from 'node:module';
import { findPackage } from '../lib/package.ts';

/**
 * The command that installs a package which npm does not install together with dpp-sync: an optional peer in
 * package.json. Null if the package is installed.
 */
export function installCommandOf(name: string): string | null {
  try {
    createRequire(import.meta.url).resolve(name);
    return null;
  } catch {
    return `npm install ${name}@${String(findPackage().peers[name])}`;
  }
}
