import type { ApiWait } from '../../domain/delivery/api-wait.ts';
import { parseJson } from '../store/context.ts';
import { readMeta, removeMeta, writeMeta } from '../store/meta.ts';
import type { Reads, Tx } from '../store/tx.ts';

const NAME = 'api_wait';

/** Stores the wait that the API has asked for; null when it is over. */
export function noteApiWait(tx: Tx, wait: ApiWait | null): void {
  if (wait === null) removeMeta(tx, NAME);
  else writeMeta(tx, NAME, JSON.stringify(wait));
}

export function readApiWait(reads: Pick<Reads, 'db'>): ApiWait | null {
  const text = readMeta(reads, NAME);
  return text === null ? null : parseJson<ApiWait>(text);
}
