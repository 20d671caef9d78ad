// Commands that only look into the ledger or into the sources need few settings. A secret that they do not use must not
// stop them, because people run these commands where the daemon's secrets are not available: in another container, as
// another user, or before they have a key of the platform.

import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { Interpolated } from './interpolate.ts';
import { formatPath, type PathSegment } from './problem.ts';

/** The needs of a command that only reads the ledger, and of one that also reads the queue. */
export type LedgerNeeds = 'ledger' | 'ledger_and_queue';
/**
 * The needs of a command for which the connectors are loaded. `sources`: it only reads the sources. `dialects`: it only reads the
 * ledger, and writes rows in the form of the sources' files.
 */
export type SourceNeeds = 'all' | 'sources' | 'dialects';
/** The parts of the config that a command needs. */
export type Needs = LedgerNeeds | SourceNeeds;

/** The sections that a command needs if it does not need all. */
const READ_SECTIONS = ['target', 'queue', 'queuePassword', 'ledger', 'sources', 'passports'];

/** Stands for a secret that cannot be read. Reading the secret itself throws the fault. */
const STAND_IN = 'UNRESOLVED-SECRET-THAT-NOBODY-USES';

/**
 * Leaves out the parts that the command does not need and that cannot be read: the section `web`, other sections in
 * which a placeholder has no value, and the problems of such placeholders in keys and in the settings of connectors.
 */
export function leaveOutUnread(interpolated: Interpolated, needs: Needs): Interpolated {
  const { value } = interpolated;
  if (needs === 'all' || !isJsonObject(value)) return interpolated;
  const unread = new Set(['web']);
  const problems = interpolated.problems.filter(({ path }) => {
    const [section] = path;
    if (typeof section === 'string' && !READ_SECTIONS.includes(section)) unread.add(section);
    else if (!isUnused(path, needs)) return true;
    else setAt(value, path);
    return false;
  });
  const read = Object.fromEntries(Object.entries(value).filter(([section]) => !unread.has(section)));
  return { ...interpolated, value: read, problems };
}

/** Whether the command uses no setting with this path, of those that may contain a secret. */
function isUnused(path: readonly PathSegment[], needs: Exclude<Needs, 'all'>): boolean {
  const name = formatPath(path);
  if (name === 'queuePassword') return needs !== 'ledger_and_queue';
  if (/^target\.(?:apiKey|publishKey)$/.test(name)) return true;
  return needs !== 'sources' && /^sources\[\d+\]\.(?:options|streams)\b/.test(name);
}

function setAt(value: JsonObject, path: readonly PathSegment[]): void {
  let at: unknown = value;
  for (const segment of path.slice(0, -1)) at = (at as Record<PathSegment, unknown>)[segment];
  const last = path.at(-1);
  if (last !== undefined) (at as Record<PathSegment, unknown>)[last] = STAND_IN;
}
