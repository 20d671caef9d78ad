import type { Duplicates } from '../../domain/ports/ledger/ledger-views.ts';
import { plural } from './style.ts';

/**
 * The words of `preview`, `sync` and `status` for rows that make the same items as other rows, with the same values. Null
 * if there are no such rows.
 */
export function repeatedRows({ count, whole }: Pick<Duplicates, 'count' | 'whole'>): {
  whole: string | null;
  shared: string | null;
} {
  const shared = count - whole;
  return {
    whole: whole === 0 ? null : plural(whole, 'row repeats another row', 'rows repeat another row'),
    shared:
      shared === 0
        ? null
        : `${plural(shared, 'row shares', 'rows share')} an item with another row, with the same values`,
  };
}
