// A user who may change the config, its secrets or its programs decides what the daemon does and sends. Commands warn of
// such files. A reload runs no program that everybody may change, because nobody looks at it when it happens.

import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type ConnectorLoader, isPathOfConnector } from '../config/connectors.ts';
import type { ConfigProblem } from '../config/problem.ts';
import { err } from '../lib/errors.ts';
import { readModuleSource } from '../pipeline/mapping/load-module.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

type Named = Pick<RuntimeConfig, 'files' | 'programs'>;

/** A warning for each file of the config that other users may change. */
export async function unsafeFileWarnings({ files, programs }: Named): Promise<ConfigProblem[]> {
  const warnings: ConfigProblem[] = [];
  for (const path of new Set([...files, ...(await withImports(programs))])) {
    const found = await othersMayWrite(path);
    if (found !== null) warnings.push({ path: '', line: null, message: sentenceOf(path, found), cure: cureOf(found) });
  }
  return warnings;
}

/** Why a daemon must not load the programs of a config again: full sentences for each program. */
export async function unsafePrograms({ programs }: Pick<Named, 'programs'>): Promise<string[]> {
  const refusals: string[] = [];
  for (const path of await withImports(programs)) {
    const refusal = await refusalOf(path);
    if (refusal !== null) refusals.push(`${refusal.message} ${refusal.cure}`);
  }
  return refusals;
}

/**
 * A loader that refuses connectors that everybody may change.
 *
 * @param inUse the programs of the present config: a connector that was loaded once is not read again
 */
export function safeConnectors<Connector>(
  loader: ConnectorLoader<Connector>,
  inUse: () => readonly string[],
): ConnectorLoader<Connector> {
  return {
    ids: loader.ids,
    async load(name, folder) {
      const path = resolve(folder, name);
      const refusal = isPathOfConnector(name) && !inUse().includes(path) ? await refusalOf(path) : null;
      return refusal === null ? await loader.load(name, folder) : err(refusal);
    },
  };
}

async function refusalOf(path: string): Promise<{ message: string; cure: string } | null> {
  const found = await othersMayWrite(path);
  if (found?.who !== 'everybody') return null;
  return { message: `${sentenceOf(path, found)} So a daemon does not load it again.`, cure: cureOf(found) };
}

function sentenceOf(path: string, { who, place }: OthersMayWrite): string {
  const others = who === 'everybody' ? 'Everybody on this machine' : 'The group of the file';
  if (place === path) return `${others} may change ${path}.`;
  return `${who === 'everybody' ? others : 'The group of the folder'} may replace ${path}, because of the rights of ${place}.`;
}

function cureOf({ who, place }: OthersMayWrite): string {
  return `Take the right away: chmod ${who === 'everybody' ? 'o' : 'g'}-w ${place}`;
}

/** The programs with the files that mapping modules among them import. */
async function withImports(programs: readonly string[]): Promise<string[]> {
  const all = new Set(programs);
  for (const path of programs) {
    const source = /\.[cm]?[jt]s$/.test(path) ? await readModuleSource(path) : null;
    if (source?.ok === true) for (const file of source.value.files) all.add(file);
  }
  return [...all];
}

/** Who may change a file, besides its owner. */
export interface OthersMayWrite {
  who: 'everybody' | 'group';
  /** The file itself, or the folder above it in which the file can be replaced. */
  place: string;
}

const [EVERYBODY, GROUP, STICKY] = [0o002, 0o020, 0o1000];

/**
 * Finds out by the rights of a file and of the folders above it whether other users may change or replace the file. A
 * path may be a link, so the folders of the link count as well as those of the file.
 *
 * @returns null if only the owners and root may, or if the file does not exist
 */
export async function othersMayWrite(path: string): Promise<OthersMayWrite | null> {
  if (process.getuid === undefined) return null;
  const real = await realpath(path).catch(() => null);
  if (real === null) return null;
  const places = new Set([real, ...foldersAbove(real), ...foldersAbove(resolve(path))]);
  let found: OthersMayWrite | null = null;
  for (const place of places) {
    const stats = await stat(place).catch(() => null);
    // In a sticky folder, nobody replaces the files of others.
    if (stats === null || (stats.isDirectory() && (stats.mode & STICKY) !== 0)) continue;
    if ((stats.mode & EVERYBODY) !== 0) return { who: 'everybody', place };
    // The group of root, and a group with the number of its only member, have nobody else.
    const isShared = stats.gid !== 0 && stats.gid !== stats.uid;
    if ((stats.mode & GROUP) !== 0 && isShared) found ??= { who: 'group', place };
  }
  return found;
}

function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}
