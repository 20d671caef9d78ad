// What the API has shown of itself: what its answers repeat, and how long it wants to be left alone.

import type { ApiWait } from '../../domain/delivery/api-wait.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { Profile } from '../../domain/profile.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { sha256Url } from '../../lib/hash.ts';
import type { JsonValue } from '../../lib/json.ts';
import { readMeta, removeMeta, writeMeta } from '../store/meta.ts';
import type { Reads, Tx } from '../store/tx.ts';
import { parseJson, parseJsonOrNull } from '../store/tx.ts';

const ECHOES = 'echoes';
const WAIT = 'api_wait';

/** The operations whose answers have repeated what was sent. */
interface Echoes {
  /** The hash of the part of the profile that decides what an answer repeats. */
  under: string;
  operations: Operation[];
}

export function echoedOperations(reads: Reads): Operation[] {
  const stored = parseJsonOrNull<Echoes>(readMeta(reads, ECHOES));
  return stored?.under === formOf(reads.profile) ? stored.operations : [];
}

/** Notes an operation whose answer has repeated what was sent. */
export function storeEcho(tx: Tx, operation: Operation): void {
  const operations = [...new Set([...echoedOperations(tx), operation])];
  writeMeta(tx, ECHOES, JSON.stringify({ under: formOf(tx.profile), operations } satisfies Echoes));
}

/** A hash of the settings that say where an answer repeats the request. If one of them changes, answers are learnt again. */
function formOf({
  naturalKeys,
  idPaths,
  idUrlPaths,
  wireNames,
  refNames,
  requests,
  list,
  publications,
}: Profile): string {
  const { productIdPaths, productUrlPaths } = publications;
  const products = { productIdPaths, productUrlPaths };
  const form = { naturalKeys, idPaths, idUrlPaths, wireNames, refNames, requests, entry: list.entry, ...products };
  return sha256Url(canonicalJson(form as unknown as JsonValue));
}

/** Stores the wait that the API has asked for; null when it is over. */
export function noteApiWait(tx: Tx, wait: ApiWait | null): void {
  if (wait === null) removeMeta(tx, WAIT);
  else writeMeta(tx, WAIT, JSON.stringify(wait));
}

export function readApiWait(reads: Pick<Reads, 'db'>): ApiWait | null {
  const text = readMeta(reads, WAIT);
  return text === null ? null : parseJson<ApiWait>(text);
}
