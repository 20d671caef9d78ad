import assert from 'node:assert/strict';
import type { SourceRow } from '../connector.ts';
import type { CheckMaker } from './check.ts';
import type { Damage } from './fixtures.ts';
import {
  assertSameRows,
  assertSourceFault,
  type SourceUnderTest,
  sourceUnderTest,
  withLarge,
} from './source-under-test.ts';

/** How many rows the file has: too many to be read ahead to its end. */
const ROWS = 20_000;

/** Checks with a source that fails or changes while it is read. */
export const damageChecks: CheckMaker = (connector, { large }) => [
  {
    name: 'reports a source that fails or changes while it is read, or gives the rows as they were',
    async run() {
      let damages = 1;
      for (let at = 0; at < damages; at++) {
        await withLarge(
          (folder) => large(ROWS, folder),
          async (settings, folder) => {
            damages = settings.damages.length;
            const damage = settings.damages[at];
            assert.ok(damage !== undefined, '`large` names at least one damage.');
            const source = sourceUnderTest({ connector, folder, settings });
            await assertNoticed(source, await source.rows(), damage);
          },
        );
      }
    },
  },
];

/** Asserts that a read reports the damage. If rows were missing without an error, their records would count as gone. */
async function assertNoticed(source: SourceUnderTest, before: readonly SourceRow[], damage: Damage): Promise<void> {
  const rows: SourceRow[] = [];
  let isDamaged = false;
  try {
    for await (const page of source.pages()) {
      rows.push(...page.rows);
      if (!isDamaged) await damage.now();
      isDamaged = true;
    }
  } catch (error) {
    assertSourceFault(error, `When ${damage.about}, pull`);
    assert.ok(rows.length <= before.length, `When ${damage.about}, more rows are read than there were.`);
    return;
  }
  assertSameRows(rows, before, `When ${damage.about}, other rows are read, and no error says so.`);
}
