import { expect, it } from 'vitest';
import { useLedger } from '../../support/ledger/ledger.ts';
import { mapRows, pullRows, row } from '../../support/ledger/records.ts';

const fixture = useLedger();
const ROWS = 20_002;

it('the guard holds a read that lacks more records than it looks at one by one, whether they made items or not', async () => {
  const { ledger } = fixture;
  await pullRows(ledger, { rows: Array.from({ length: ROWS }, (_, at) => row(`R${at}`)) });
  for (let left = ROWS; left > 0; left -= 10_000) await mapRows(ledger, () => ({ status: 'excluded' }));
  const few = await pullRows(ledger, { rows: Array.from({ length: ROWS - 1 }, (_, at) => row(`R${at}`)) });
  expect(few.guarded).toBeNull();
  const { guarded } = await pullRows(ledger, { rows: [] });
  expect(guarded).toContain('20001 of 20001 records are missing');
});
