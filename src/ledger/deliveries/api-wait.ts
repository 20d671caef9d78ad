import type { ApiWait } from '../../domain/delivery/api-wait.ts';
import { parseJson } from '../store/context.ts';
import type { Meta } from '../store/meta.ts';

const NAME = 'api_wait';

/** Stores the wait that the API has asked for; null when it is over. */
export function noteApiWait(meta: Pick<Meta, 'set' | 'remove'>, wait: ApiWait | null): void {
  if (wait === null) meta.remove(NAME);
  else meta.set(NAME, JSON.stringify(wait));
}

export function readApiWait(meta: Pick<Meta, 'get'>): ApiWait | null {
  const text = meta.get(NAME);
  return text === null ? null : parseJson<ApiWait>(text);
}
