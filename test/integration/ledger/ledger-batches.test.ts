// Claims and settlements of many deliveries at once: a violation costs one item, and the number of statements does not rise with
// the number of deliveries.

import Database from 'better-sqlite3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type { ClaimedRequest, Decision, Settled } from '../../../src/domain/ports/deliveries.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { covers } from '../../support/docs/reliability.ts';
import { alone, delivered } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { createLedgerFixture, useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const fixture = useLedger();
const REFUSED: Reason = { code: 'refused', message: 'why' };
const soundness = () => verifyLedger(fixture.file, () => {})?.findings;

async function claimAll(ledger: SqliteLedger): Promise<ClaimedRequest[]> {
  const due = await ledger.dueDeliveries({ afterId: 0, limit: 1000 });
  return await ledger.claim(due.map((one) => alone([one])));
}

const groupsOf = (claimed: readonly ClaimedRequest[], decide: (key: string, at: number) => Decision) =>
  claimed.map((claim, at) => ({
    claim,
    settlements: claim.members.map(({ id, revision, key }) => ({ id, revision, decision: decide(key, at) })),
    keep: false,
    groupMax: null,
  }));

const states = (ledger: SqliteLedger) =>
  Object.fromEntries(ledger.views.itemsAfter({ afterId: 0, limit: 100 }).items.map(({ key, state }) => [key, state]));

async function stageProducts(ledger: SqliteLedger, count: number): Promise<void> {
  const keys = Array.from({ length: count }, (_, at) => `P${at}`);
  await stageRows(ledger, Object.fromEntries(keys.map((key) => [key, items(product(key))])));
}

describe('a batch of settlements', () => {
  it(
    'a remote id that another item of the batch was given costs one item of the settlements alone',
    covers('answer-lost', 'I4'),
    async () => {
      const { ledger } = fixture;
      await stageProducts(ledger, 4);
      const claimed = await claimAll(ledger);
      const settled = await ledger.settle(
        groupsOf(claimed, (key) => delivered(key === 'P2' ? 1 : Number(key.slice(1)))),
      );
      expect(settled.map(({ instead }) => instead?.kind)).toEqual([undefined, undefined, 'unconfirmed', undefined]);
      expect(states(ledger)).toEqual({ P0: 'delivered', P1: 'delivered', P2: 'in_doubt', P3: 'delivered' });
      expect(soundness()).toEqual([]);
    },
  );

  it('a batch of settlements takes other decisions beside the plain ones, each for its own delivery', async () => {
    const { ledger } = fixture;
    await stageProducts(ledger, 4);
    const [first, ...rest] = await claimAll(ledger);
    await stageRows(ledger, {
      ...Object.fromEntries(['P0', 'P1', 'P3'].map((key) => [key, items(product(key))])),
      P2: items(product('P2', 'newer')),
    });
    const decide = (key: string, at: number): Decision =>
      key === 'P1' ? { kind: 'rejected', reason: { code: 'refused', message: 'no' } } : delivered(at);
    const stale = { ...first!, sends: first!.sends + 1 };
    const settled = await ledger.settle(groupsOf([stale, ...rest], decide));
    expect(settled.map(({ applied, released }) => [applied, released])).toEqual([
      [false, 0],
      [true, 0],
      [true, 1],
      [true, 0],
    ]);
    expect(states(ledger)).toEqual({ P0: 'sending', P1: 'rejected', P2: 'due', P3: 'delivered' });
    expect(soundness()).toEqual([]);
  });

  describe('that names a delivery twice', () => {
    const reason: Reason = { code: 'reset', message: 'why' };
    const lost: Decision = { kind: 'unconfirmed', nextLookAt: null, spend: true, reason };
    const claimOnly = async (): Promise<ClaimedRequest> => {
      await stageProducts(fixture.ledger, 1);
      const [claim] = await claimAll(fixture.ledger);
      return claim ?? expect.unreachable();
    };
    const applied = (settled: readonly Settled[]) => settled.map((one) => one.applied);
    function attempts(): number[] {
      const db = new Database(fixture.file, { readonly: true });
      try {
        return db.prepare<[], number>('SELECT attempts FROM items').pluck().all();
      } finally {
        db.close();
      }
    }

    it.each<[string, Decision]>([
      ['a retry', { kind: 'retry', dueAt: 0, spend: true, reason }],
      ['unconfirmed', lost],
      ['acknowledged', delivered(1)],
    ])('a batch with two decisions on one delivery takes the first: %s', async (_what, decision) => {
      const claim = await claimOnly();
      const [group] = groupsOf([claim], () => decision);
      if (group === undefined) expect.unreachable();
      const twice = { ...group, settlements: [...group.settlements, ...group.settlements] };
      expect(applied(await fixture.ledger.settle([twice]))).toEqual([true, false]);
      expect(attempts()).toEqual([1]);
    });

    it('a delivery settled twice in a batch takes the first decision', covers('answer-lost', 'I6'), async () => {
      const claim = await claimOnly();
      const decisions = [lost, delivered(1), lost];
      const settled = await fixture.ledger.settle(groupsOf([claim, claim, claim], (_key, at) => decisions[at] ?? lost));
      expect(applied(settled)).toEqual([true, false, false]);
      expect([states(fixture.ledger), attempts()]).toEqual([{ P0: 'in_doubt' }, [1]]);
    });

    it('a batch of settlements decides on the present claim, where an older claim is answered before', async () => {
      const claim = await claimOnly();
      const stale = { ...claim, sends: claim.sends - 1 };
      const decisions = [lost, delivered(1)];
      const settled = await fixture.ledger.settle(groupsOf([stale, claim], (_key, at) => decisions[at] ?? lost));
      expect(applied(settled)).toEqual([false, true]);
      expect(states(fixture.ledger)).toEqual({ P0: 'delivered' });
    });
  });

  it('a batch of settlements releases each waiting item once', covers('changed-amid', 'I5'), async () => {
    const { ledger } = fixture;
    await stageRows(ledger, {
      P1: items(product('P1')),
      M1: items(material('M1')),
      B1: items(bomItem('B1', 'P1', 'M1')),
      B2: items(bomItem('B2', 'P1', 'unknown')),
    });
    const settled = await ledger.settle(groupsOf(await claimAll(ledger), (_, at) => delivered(at)));
    expect(settled.reduce((sum, { released }) => sum + released, 0)).toBe(1);
    expect(states(ledger)).toMatchObject({ B1: 'due', B2: 'waiting' });
    expect(soundness()).toEqual([]);
  });
});

describe('a batch of claims', () => {
  it('a batch of claims leaves out what is not due under the named revision, and claims the rest', async () => {
    const { ledger } = fixture;
    await stageProducts(ledger, 3);
    const [one, two, three] = await ledger.dueDeliveries({ afterId: 0, limit: 9 });
    const lists = [[one!], [{ id: two!.id, revision: 9 }], [one!], [{ id: 99, revision: 1 }], [three!]];
    const claimed = await ledger.claim(lists.map(alone));
    expect(claimed.map(({ members }) => members.map(({ key }) => key))).toEqual([['P0'], ['P2']]);
    expect(new Set(claimed.map(({ request }) => request)).size).toBe(2);
    expect(states(ledger)).toEqual({ P0: 'sending', P1: 'due', P2: 'sending' });
    expect(soundness()).toEqual([]);
  });

  it.each<[state: string, decision: Decision | null]>([
    ['sending', null],
    ['in_doubt', { kind: 'unconfirmed', nextLookAt: null, spend: true, reason: REFUSED }],
    ['blocked', { kind: 'blocked', reason: REFUSED }],
    ['rejected', { kind: 'rejected', reason: REFUSED }],
    ['delivered', delivered(1)],
  ])(
    'a batch of claims claims nothing for a job that comes late, once its delivery is %s',
    covers('queue-lost', 'I6'),
    async (state, decision) => {
      const { ledger } = fixture;
      await stageProducts(ledger, 1);
      const job = await ledger.dueDeliveries({ afterId: 0, limit: 9 });
      const claimed = await claimAll(ledger);
      if (decision !== null) await ledger.settle(groupsOf(claimed, () => decision));
      expect(await ledger.claim([alone(job)])).toEqual([]);
      expect(states(ledger)).toEqual({ P0: state });
      expect(soundness()).toEqual([]);
    },
  );
});

describe('statements', () => {
  afterEach(() => vi.restoreAllMocks());

  /** Counts the statements that claiming and settling so many deliveries takes. */
  async function statementsOf(count: number): Promise<{ claim: number; settle: number }> {
    let statements = 0;
    const prepare: unknown = Reflect.get(Database.prototype, 'prepare');
    const spy = vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database.Database, sql) {
      const statement = Reflect.apply(prepare as (sql: string) => Database.Statement<unknown[]>, this, [sql]);
      for (const method of ['run', 'get', 'all'] as const) {
        const run: unknown = statement[method];
        statement[method] = ((...values: unknown[]) => {
          statements += 1;
          return Reflect.apply(run as () => unknown, statement, values);
        }) as never;
      }
      return statement;
    });
    const counted = createLedgerFixture();
    spy.mockRestore();
    try {
      await stageProducts(counted.ledger, count);
      const due = await counted.ledger.dueDeliveries({ afterId: 0, limit: 1000 });
      statements = 0;
      const claimed = await counted.ledger.claim(due.map((one) => alone([one])));
      const claim = statements;
      expect(claimed).toHaveLength(count);
      await counted.ledger.settle(groupsOf(claimed, (_, at) => delivered(at)));
      return { claim, settle: statements - claim };
    } finally {
      await counted.remove();
    }
  }

  it('the ledger runs as many statements for 64 creates as for one', async () => {
    expect(await statementsOf(64)).toEqual(await statementsOf(1));
  });
});
