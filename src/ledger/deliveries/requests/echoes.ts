// The operations whose answers have repeated what was sent.

import type { Operation } from '../../../domain/delivery/operation.ts';
import type { Profile } from '../../../domain/profile.ts';
import { canonicalJson } from '../../../lib/canonical-json.ts';
import { sha256Url } from '../../../lib/hash.ts';
import type { JsonValue } from '../../../lib/json.ts';
import { parseJsonOrNull } from '../../store/context.ts';
import { readMeta, writeMeta } from '../../store/meta.ts';
import type { Reads, Tx } from '../../store/tx.ts';

const NAME = 'echoes';

interface Stored {
  /** The hash of the part of the profile that decides what an answer repeats. */
  under: string;
  operations: Operation[];
}

export function echoedOperations(reads: Reads): Operation[] {
  const stored = parseJsonOrNull<Stored>(readMeta(reads, NAME));
  return stored?.under === formOf(reads.profile) ? stored.operations : [];
}

/** Notes an operation whose answer has repeated what was sent. */
export function storeEcho(tx: Tx, operation: Operation): void {
  const operations = [...new Set([...echoedOperations(tx), operation])];
  writeMeta(tx, NAME, JSON.stringify({ under: formOf(tx.profile), operations } satisfies Stored));
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
