import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Profile } from '../../../src/domain/profile.ts';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { restoreLedger } from '../../../src/ledger/backup/restore.ts';
import { deliverAll } from '../../support/ledger/deliveries.ts';
import { items, product } from '../../support/ledger/items.ts';
import { NO_PARTS, TARGET, useLedger } from '../../support/ledger/ledger.ts';
import { mapRows, pullRows, row } from '../../support/ledger/records.ts';

describe('a product that left a source with `onMissing: ignore` can still be published', () => {
  const fixture = useLedger({ rules: NO_PARTS });

  async function pull(ids: readonly string[], revision: string): Promise<void> {
    await pullRows(fixture.ledger, { rows: ids.map((id) => row(id, { id })), revision, flagItems: false });
    await mapRows(fixture.ledger, ({ id }) => items(product(id as string)));
  }

  async function loadAndLeave(): Promise<void> {
    await pull(['1', '2', '3'], 'r1');
    await deliverAll(fixture.ledger);
    await pull(['2', '3'], 'r1');
  }

  async function publish(): Promise<unknown> {
    const [answer] = await fixture.ledger.askForPassports({ products: ['1'], status: 'published' });
    return answer?.blockers;
  }

  it('a product that left a source with `onMissing: ignore` can still be published after its mapping was changed', async () => {
    await loadAndLeave();
    for (let run = 0; run < 2; run += 1) await pull(['2', '3'], 'r2');
    await deliverAll(fixture.ledger);
    expect(await publish()).toEqual([]);
  });

  it('a product that left a source with `onMissing: ignore` can still be published after the ledger was restored', async () => {
    await loadAndLeave();
    const { file, clock } = fixture;
    const to = join(dirname(file), 'backup.db');
    backUpLedger({ file, to, force: true, now: clock.now(), onStep: () => undefined });
    await fixture.ledger.close();
    restoreLedger({ file, from: to, target: TARGET, profile: Profile.parse({}), clock });
    await fixture.reopen();
    for (let run = 0; run < 2; run += 1) await pull(['2', '3'], 'r1');
    await deliverAll(fixture.ledger);
    expect(await publish()).toEqual([]);
  });
});
