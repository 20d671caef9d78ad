import type { Operation } from '../../../domain/delivery/operation.ts';
import type { Profile } from '../../../domain/profile.ts';
import { canonicalJson } from '../../../lib/canonical-json.ts';
import { sha256Url } from '../../../lib/hash.ts';
import type { JsonValue } from '../../../lib/json.ts';
import { type LedgerContext, parseJsonOrNull } from '../../store/context.ts';
import type { Meta } from '../../store/meta.ts';

const NAME = 'echoes';

interface Stored {
  /** The hash of the part of the profile that decides what an answer repeats. */
  under: string;
  operations: Operation[];
}

/** The operations whose answers have repeated what was sent. Use it inside a transaction. */
export interface StoredEchoes {
  all(): Operation[];
  add(operation: Operation): void;
}

export function createStoredEchoes({ profile }: Pick<LedgerContext, 'profile'>, meta: Meta): StoredEchoes {
  const under = formOf(profile);

  function all(): Operation[] {
    const stored = parseJsonOrNull<Stored>(meta.get(NAME));
    return stored?.under === under ? stored.operations : [];
  }

  return {
    all,
    add(operation) {
      const operations = [...new Set([...all(), operation])];
      meta.set(NAME, JSON.stringify({ under, operations } satisfies Stored));
    },
  };
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
