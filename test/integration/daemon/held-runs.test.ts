// Decisions about held runs that come while another run of the source is under way.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createHeldRuns } from '../../../src/daemon/plan/held-runs.ts';
import type { WaitingRun } from '../../../src/domain/approval.ts';
import type { DaemonNotes } from '../../../src/domain/ports/ledger/care-ledger.ts';
import { temporaryFolder } from '../../support/connectors/connector-reader.ts';

const waiting = (runId: number, digest: string): WaitingRun => ({
  source: 'erp',
  runId,
  at: runId * 1_000,
  excesses: [{ source: 'erp', effect: 'creates', count: 5, limit: 2 }],
  effects: { erp: { creates: 5, changes: 0, publish: 0, unpublish: 0 } },
  writes: { count: 5, digest },
});

async function open() {
  const folder = await temporaryFolder();
  const stored: { note: DaemonNotes['held'] | null; texts: string[] } = { note: null, texts: [] };
  const held = createHeldRuns({
    ledgerFile: join(folder.path, 'ledger.db'),
    ledger: {
      async noteDaemon(_, note) {
        stored.note = note as DaemonNotes['held'] | null;
      },
      async decideHeldRun({ held: runs, error }) {
        stored.note = runs;
        stored.texts.push(error);
      },
    },
    note: null,
  });
  const kept = () => readFileSync(join(folder.path, 'ledger.db.held/erp.jsonl'), 'utf8');
  async function keep(run: WaitingRun, known = held.of('erp')): Promise<void> {
    const file = join(folder.path, `plan-${run.runId}`);
    writeFileSync(file, run.writes.digest);
    await held.keep(run, { file, outline: [] }, known);
  }
  return { folder, held, stored, keep, kept };
}

const ANNA = { by: 'anna', at: Date.UTC(2026, 10, 29, 17, 40) };

it('an approval during another run of the source is kept for the next run, with the plan that was approved', async () => {
  const { folder, held, stored, keep, kept } = await open();
  await using _ = folder;
  await keep(waiting(1, 'one'));
  const known = held.of('erp');
  await held.approve('erp', ANNA);
  await keep(waiting(2, 'two'), known);
  expect(held.of('erp')).toMatchObject({ runId: 1, decision: { decided: 'approved', by: 'anna' } });
  expect(stored.note?.['erp']).toEqual(held.of('erp'));
  expect(kept()).toBe('one');
  // The next run knows the approval. If it exceeds the bounds nevertheless, a person is asked again.
  await keep(waiting(3, 'three'));
  expect(held.of('erp')).toMatchObject({ runId: 3, decision: null });
  expect(kept()).toBe('three');
});

it('a refusal during another run of the source counts for that run if it would do the same', async () => {
  const { folder, held, keep } = await open();
  await using _ = folder;
  await keep(waiting(1, 'one'));
  const known = held.of('erp');
  await held.refuse('erp', ANNA);
  await keep(waiting(2, 'one'), known);
  expect(held.of('erp')).toMatchObject({ runId: 2, decision: { decided: 'refused', by: 'anna' } });
  await keep(waiting(3, 'two'));
  expect(held.of('erp')).toMatchObject({ runId: 3, decision: null });
});

it('a decision about an older run decides nothing, and a run that is complete leaves no plan', async () => {
  const { folder, held, stored, keep } = await open();
  await using _ = folder;
  await keep(waiting(1, 'one'));
  await keep(waiting(2, 'two'));
  for (const decide of [held.approve, held.refuse]) expect(await decide('erp', { ...ANNA, runs: [1] })).toBeNull();
  expect([held.of('erp')?.decision, stored.texts]).toEqual([null, []]);
  expect(await held.refuse('erp', { ...ANNA, runs: [2] })).toMatchObject({ runId: 2 });
  expect(stored.texts).toEqual([
    'The run would have made 5 new items (erp allows 2), so nothing of it was stored. anna has refused it, 2026-11-29 17:40 UTC.',
  ]);
  await held.end('erp');
  expect([held.of('erp'), stored.note]).toEqual([null, null]);
  expect(existsSync(join(folder.path, 'ledger.db.held/erp.jsonl'))).toBe(false);
});
