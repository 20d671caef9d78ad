// A page, a claim and a settlement run as many statements for 200 rows as for 10.

import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import type { Reason } from '../../../src/domain/delivery/reason.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { ClaimedDelivery, ClaimedRequest } from '../../../src/domain/ports/claim.ts';
import type { Decision } from '../../../src/domain/ports/decision.ts';
import type { IncomingRecord } from '../../../src/domain/record.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { createBitmap } from '../../../src/lib/collections/bitmap.ts';
import { alone, delivered, LOST, NEVER_ANSWERED } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { createLedgerFixture, type LedgerFixture } from '../../support/ledger/ledger.ts';
import { row, stageRows } from '../../support/ledger/records.ts';
import { countStatements, type StatementCount } from '../../support/ledger/statement-counter.ts';

const FEW = 10;
const MANY = 200;

/** The rows of a page. Each makes one product. */
const rowsOf = (count: number, name: string): IncomingRecord[] =>
  Array.from({ length: count }, (_, at) => row(`P${at}`, { name }, at + 2));

const resultsOf = (count: number, result: (key: string) => MapResult): ReadonlyMap<number, MapResult> =>
  new Map(Array.from({ length: count }, (_, at) => [at, result(`P${at}`)]));

const productNamed = (name: string) => (key: string) => items(product(key, name));
const partsNamed = (name: string) => (key: string) =>
  items(product(key, name), bomItem(`B1-${key}`, key, 'M', name), bomItem(`B2-${key}`, key, 'M'));

const startRun = (ledger: SqliteLedger) =>
  ledger.startRun({ source: 'erp', trigger: 'cli', streams: ['default'], mappingRevision: 'r1' });

/** Stages one page of a new run, and counts the statements of the page alone. Then ends the run. */
async function page(
  ledger: SqliteLedger,
  records: IncomingRecord[],
  results: ReadonlyMap<number, MapResult> | null,
): Promise<StatementCount> {
  const { runId } = await startRun(ledger);
  const seen = createBitmap();
  const of = { runId, source: 'erp', stream: 'default' };
  const mapped = results === null ? {} : { mapped: { mappingRevision: 'r1', results } };
  const counted = await countStatements(() =>
    ledger.stagePage({ ...of, records, seen, deferMapping: false, ...mapped }),
  );
  const guard = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };
  const read = records.length;
  await ledger.endStream({ ...of, seen, read, creates: 'decide', flagItems: true, guard, uncounted: 0 });
  await ledger.endRun({ runId, result: 'complete' });
  return counted;
}

/** Stages products, each with two BOM items of one material, and claims and delivers those that are due first. */
async function stageProducts({ ledger }: LedgerFixture, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, at): [string, MapResult] => [`P${at}`, items(...partsOf(`P${at}`))]);
  await stageRows(ledger, { ...Object.fromEntries(rows), M: items(material('M')) });
  await settleAll({ ledger }, ({ key }) => (key === 'M' ? delivered(1) : null));
}

const partsOf = (key: string) => [product(key), bomItem(`B1-${key}`, key, 'M'), bomItem(`B2-${key}`, key, 'M')];

const claimAll = async ({ ledger }: Pick<LedgerFixture, 'ledger'>): Promise<ClaimedRequest[]> => {
  const due = await ledger.dueDeliveries({ afterId: 0, limit: 1_000 });
  return ledger.claim(due.map((one) => alone([one])));
};

/** Claims all due deliveries and decides about them in one batch. Those without a decision are sent again. */
async function settleAll(
  { ledger }: Pick<LedgerFixture, 'ledger'>,
  decide: (member: ClaimedDelivery, at: number) => Decision | null,
): Promise<StatementCount> {
  const claimed = await claimAll({ ledger });
  const groups = claimed.map((claim, at) => ({
    claim,
    settlements: claim.members.map((member) => ({
      id: member.id,
      revision: member.revision,
      decision: decide(member, at) ?? ({ kind: 'retry', dueAt: 0, spend: false, reason: REFUSED } as const),
    })),
    keep: false,
    groupMax: null,
  }));
  return countStatements(() => ledger.settle(groups));
}

const REFUSED: Reason = { code: 'gate', message: 'The platform refused it.' };

/** One decision of each kind, in turns. */
const OUTCOMES: readonly Decision[] = [
  { kind: 'retry', dueAt: 5, spend: true, reason: REFUSED },
  { kind: 'unconfirmed', nextLookAt: 5, spend: true, reason: LOST },
  { kind: 'blocked', recheckAt: 5, reason: REFUSED },
  { kind: 'rejected', reason: REFUSED },
  { kind: 'parked', reason: REFUSED },
];

/** The verbs that work on many rows. Each prepares a ledger with so many rows, and counts the statements of one call. */
const VERBS: Record<string, (fixture: LedgerFixture, count: number) => Promise<StatementCount>> = {
  'a page of new rows': ({ ledger }, count) => page(ledger, rowsOf(count, 'a'), resultsOf(count, partsNamed('1'))),
  'a page of rows that another stream makes too': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('1')));
    const others = rowsOf(count, 'a').map((one) => ({ ...one, identity: `other ${one.identity}` }));
    return page(ledger, others, resultsOf(count, productNamed('2')));
  },
  'a page of equal rows': async ({ ledger }, count) => {
    const equal = Array.from({ length: count }, () => row('same'));
    return page(ledger, equal, null);
  },
  'a page that changes nothing': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    return page(ledger, rowsOf(count, 'a'), null);
  },
  'a look-up of a page': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    const records = rowsOf(count, 'b');
    return countStatements(() =>
      ledger.lookUpPage({ runId: 1, source: 'erp', stream: 'default', records, seen: createBitmap(), uncounted: 0 }),
    );
  },
  'a comparison of a page': async ({ ledger }, count) => {
    await page(ledger, rowsOf(count, 'a'), resultsOf(count, productNamed('a')));
    const records = rowsOf(count, 'b');
    return countStatements(() =>
      ledger.comparePage({ source: 'erp', stream: 'default', records, seen: createBitmap() }),
    );
  },
  'a claim': async (fixture, count) => {
    await stageProducts(fixture, count);
    return countStatements(() => claimAll(fixture));
  },
  'a settle of acknowledged creates that BOM items wait for': async (fixture, count) => {
    await stageProducts(fixture, count);
    return settleAll(fixture, (_, at) => delivered(at + 10));
  },
  'a settle of creates that have met an item': async (fixture, count) => {
    await stageProducts(fixture, count);
    return settleAll(fixture, (_, at) => ({ ...delivered(at + 10), contentKnown: false }));
  },
  'a settle of all other decisions': async (fixture, count) => {
    await stageProducts(fixture, count);
    return settleAll(fixture, (_, at) => OUTCOMES[at % OUTCOMES.length] ?? null);
  },
  'a manual resolution': async (fixture, count) => {
    await stageProducts(fixture, count);
    await settleAll(fixture, () => ({ kind: 'rejected', reason: REFUSED }));
    const { ledger } = fixture;
    const named = await ledger.selectedDeliveries({
      state: 'rejected',
      kind: null,
      source: null,
      afterId: 0,
      limit: 1_000,
    });
    const decision = { kind: 'ignored', reason: REFUSED } as const;
    const groups = named.map((seen) => ({
      claim: null,
      settlements: [{ id: seen.id, revision: seen.revision, decision, seen }],
      keep: false,
      groupMax: null,
    }));
    return countStatements(() => ledger.settle(groups));
  },
  'a claim of writes whose refs were lost': async (fixture, count) => {
    await stageProducts(fixture, count);
    await settleAll(fixture, (_, at) => delivered(at + 10));
    const db = new Database(fixture.file);
    db.exec("UPDATE items SET remote_id = 'null' WHERE kind = 'material'");
    db.close();
    return countStatements(() => claimAll(fixture));
  },
  'a recheck of blocked deliveries': async (fixture, count) => {
    await stageProducts(fixture, count);
    await settleAll(fixture, () => ({ kind: 'blocked', recheckAt: 1, reason: REFUSED }));
    return countStatements(() => fixture.ledger.recheckBlocked({ limit: 1_000 }));
  },
  'a forced replay of unconfirmed deliveries': async (fixture, count) => {
    await stageProducts(fixture, count);
    await settleAll(fixture, () => NEVER_ANSWERED);
    const selection = { states: ['in_doubt' as const], sources: [], keys: [], deliveryIds: [] };
    return countStatements(() => fixture.ledger.forceUnconfirmed({ selection, dryRun: false }));
  },
};

it.each(Object.entries(VERBS))('%s runs as many statements for 200 rows as for 10', async (_name, verb) => {
  const counts: StatementCount[] = [];
  for (const count of [FEW, MANY]) {
    const fixture = createLedgerFixture({ rules: { init: 'when-complete', publish: 'auto' } });
    try {
      counts.push(await verb(fixture, count));
    } finally {
      await fixture.remove();
    }
  }
  const [few, many] = counts;
  expect(many?.statements).toBe(few?.statements);
});
