import { createRequire } from 'node:module';
import { fault } from '../domain/faults.ts';
import type { Fault, FaultDetails } from '../lib/errors.ts';
import { findPackage } from '../lib/package.ts';

/**
 * The error a connector throws when a stream cannot be read at all: the message says what happened and where, and the
 * suggestion says what to do.
 */
export function sourceFault(message: string, details: FaultDetails = {}): Fault {
  return fault('source.unreadable', message, details);
}

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
