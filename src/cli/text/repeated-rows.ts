import type { Duplicates } from '../../domain/ports/ledger/ledger-views.ts';
import { plural } from './style.ts';

/**
 * What is said of rows that make items of other rows with the same values, by preview, sync and status alike. Null where there
 * are none.
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
