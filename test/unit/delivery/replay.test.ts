import { expect, it } from 'vitest';
import type { Mapper } from '../../../src/domain/mapping.ts';
import type { IntakeLedger } from '../../../src/domain/ports/ledger/intake-ledger.ts';
import type { ReplayCandidate, ReplayLedger } from '../../../src/domain/ports/ledger/replay-ledger.ts';
import { replay } from '../../../src/pipeline/replay.ts';

const candidate = (id: number): ReplayCandidate => ({
  id,
  version: 1,
  source: 'erp',
  stream: 'default',
  fields: {},
  place: { file: 'products.csv', line: id },
  issues: [],
});

it('a replay lets other work run after each hundred records, and leaves no record out', async () => {
  const stored = Array.from({ length: 620 }, (_, at) => candidate(at + 1));
  const staged: number[] = [];
  const ledger: Partial<ReplayLedger> = {
    replayPassports: async () => ({ asked: 0, incomplete: 0, leftUnconfirmed: 0 }),
    replayCandidates: async ({ afterId, limit }) => stored.filter(({ id }) => id > afterId).slice(0, limit),
    async replay({ records }) {
      staged.push(...records.map(({ id }) => id));
      return { staged: records.length, quarantined: 0, leftUnconfirmed: 0 };
    },
  };
  let inThisTurn = 0;
  let most = 0;
  const mapper: Partial<Mapper> = {
    map() {
      inThisTurn += 1;
      most = Math.max(most, inThisTurn);
      return { status: 'excluded' };
    },
  };
  let isOver = false;
  const newTurn = (): void => {
    inThisTurn = 0;
    if (!isOver) setImmediate(newTurn);
  };
  newTurn();
  const selection = { states: [], sources: [], keys: [], deliveryIds: [] };
  const report = await replay(
    { selection, force: false, dryRun: false },
    { ledger: ledger as ReplayLedger & Pick<IntakeLedger, 'findLookups'>, mapperOf: () => mapper as Mapper },
  );
  isOver = true;
  expect(most).toBe(100);
  expect(staged).toEqual(stored.map(({ id }) => id));
  expect(report).toMatchObject({ records: 620, passing: 620, staged: 620 });
});
