import { describe, expect, it } from 'vitest';
import { incompleteLines } from '../../../src/cli/platform/publish.ts';

const GUARD = 'The guard holds the source erp.';
const products = (count: number, blocker: string, first = 1) =>
  Array.from({ length: count }, (_, at) => ({
    key: `${first + at}`,
    naturalKey: `A-${first + at}`,
    blockers: [blocker],
  }));

describe('the products that `publish --all` leaves out', () => {
  it('are one line for each cause, with their count and the first names', () => {
    const firstIncomplete = [...products(7, GUARD), ...products(1, 'Its BOM item 9 is due.', 8)];
    expect(incompleteLines({ incomplete: 8, firstIncomplete })).toEqual([
      '8 products are not complete, so their passports were not published:',
      `  - 7 products (A-1, A-2, A-3, A-4, A-5, …): ${GUARD}`,
      '  - A-8: Its BOM item 9 is due.',
      '  All reasons, and the next step: dpp-sync why A-1',
    ]);
  });

  it('are counted where there are more than are listed', () => {
    expect(incompleteLines({ incomplete: 1200, firstIncomplete: products(1000, GUARD) }).at(-2)).toBe(
      '  … and 200 more products; --json lists up to 1,000.',
    );
    const each = Array.from({ length: 12 }, (_, at) => products(1, `Row ${at} is wrong.`, at)[0]).filter(
      (one) => one !== undefined,
    );
    const lines = incompleteLines({ incomplete: 12, firstIncomplete: each });
    expect(lines).toHaveLength(13);
    expect(lines.at(-2)).toBe('  … and 2 more products; --json lists up to 1,000.');
  });
});
