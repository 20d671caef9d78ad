import Database from 'better-sqlite3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sync } from '../../../src/daemon/sync.ts';
import { createApiHealth } from '../../../src/delivery/admission/api-health.ts';
import { createLearntRate } from '../../../src/delivery/rate/learnt-rate.ts';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import { fault } from '../../../src/domain/faults.ts';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { readMark } from '../../../src/ledger/file/identity.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { inTransaction, type Tx } from '../../../src/ledger/store/tx.ts';
import { createFollowClock } from '../../../src/ledger/store/upkeep.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { createHealth } from '../../../src/observe/health.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { covers, ORACLE } from '../../support/docs/reliability.ts';
import { ledgerContext } from '../../support/ledger/context.ts';
import { claimOne, delivered, settleOne } from '../../support/ledger/deliveries.ts';
import { allSkus, evidenceOf, violations } from '../../support/ledger/invariants.ts';
import { items, material, product } from '../../support/ledger/items.ts';
import { createLedgerFixture, type LedgerFixture } from '../../support/ledger/ledger.ts';
import { pullAndMap, row, stageRows } from '../../support/ledger/records.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const JUMPS = [
  { jump: 'an hour back', ms: -HOUR },
  { jump: 'a day back', ms: -DAY },
  { jump: 'an hour forwards', ms: HOUR },
  { jump: 'a day forwards', ms: DAY },
];

describe.each(JUMPS)('when the clock is set $jump, the ledger', ({ ms }) => {
  let fixture: LedgerFixture;
  afterEach(() => fixture.remove());

  /** One delivery after an attempt, whose decision lets it wait for half a minute. */
  async function waiting(kind: 'retry' | 'unconfirmed' | 'blocked'): Promise<void> {
    fixture = createLedgerFixture();
    const { ledger, clock } = fixture;
    await pullAndMap(ledger, [row('A')], () => items(product('A')));
    const [due] = await ledger.dueDeliveries({ afterId: 0, limit: 10 });
    const deliveryId = due?.id ?? 0;
    await claimOne(ledger, deliveryId);
    const at = clock.now() + MINUTE / 2;
    const reason: Reason = { code: 'timeout', message: 'No answer came.' };
    const decisions: Record<typeof kind, Decision> = {
      retry: { kind: 'retry', dueAt: at, spend: true, reason },
      unconfirmed: { kind: 'unconfirmed', nextLookAt: at, spend: true, reason },
      blocked: { kind: 'blocked', recheckAt: at, reason: { code: 'gate', message: 'No.' } },
    };
    const decision = decisions[kind];
    await settleOne(ledger, { id: deliveryId, decision });
  }
  const due = async () => (await fixture.ledger.dueDeliveries({ afterId: 0, limit: 10 })).length;
  const doubtful = async () => (await fixture.ledger.unconfirmedDeliveries({ limit: 10 })).length;
  const waitMs = async () => ((await fixture.ledger.nextDueAt()) ?? Number.NaN) - fixture.clock.now();

  it('a retry waits as long as planned when the clock jumps', covers('clock-jump', 'I5'), async () => {
    await waiting('retry');
    fixture.clock.jump(ms);
    expect(await due()).toBe(0);
    expect(await waitMs()).toBe(MINUTE / 2);
    fixture.clock.advance(MINUTE / 2);
    expect(await due()).toBe(1);
  });

  it(
    'an unconfirmed delivery is read back neither before its delay is over nor a day later when the clock jumps',
    covers('clock-jump', 'I5', 'I6'),
    async () => {
      await waiting('unconfirmed');
      fixture.clock.jump(ms);
      expect(await doubtful()).toBe(0);
      fixture.clock.advance(MINUTE / 2 - 1);
      expect(await doubtful()).toBe(0);
      fixture.clock.advance(1);
      expect(await doubtful()).toBe(1);
    },
  );

  it('a blocked delivery is sent again when planned after the clock jumps', covers('clock-jump', 'I5'), async () => {
    await waiting('blocked');
    const recheck = async () => (await fixture.ledger.recheckBlocked({ limit: 10 })).staged;
    fixture.clock.jump(ms);
    expect(await recheck()).toBe(0);
    fixture.clock.advance(MINUTE / 2 - 1);
    expect(await recheck()).toBe(0);
    fixture.clock.advance(1);
    expect(await recheck()).toBe(1);
  });

  it('a ledger counts the commit in which it follows a jump of the clock', covers('clock-jump', 'I8'), async () => {
    await waiting('unconfirmed');
    const before = readMark(fixture.file)?.generation ?? 0;
    expect(await doubtful()).toBe(0);
    expect(readMark(fixture.file)?.generation).toBe(before);
    fixture.clock.jump(ms);
    // Two reads at once notice the same jump, and follow it once.
    expect(await Promise.all([doubtful(), due()])).toEqual([0, 0]);
    expect(readMark(fixture.file)?.generation).toBe(before + 1);
    expect(await waitMs()).toBe(MINUTE / 2);
  });

  it(
    'a ledger follows a jump of the clock later where the disk was full when the jump was noticed',
    covers(['clock-jump', 'disk-full'], 'I5'),
    async () => {
      await waiting('unconfirmed');
      const db = new Database(fixture.file);
      const full = fault('ledger.unwritable', 'The ledger cannot be written.');
      const answers = [() => Promise.reject(full)];
      const context = ledgerContext({ db, clock: fixture.clock });
      const commit = {
        run: async <T>(write: (tx: Tx) => T): Promise<T> => (await answers.pop()?.()) ?? inTransaction(context, write),
      };
      const followClock = createFollowClock({ clock: fixture.clock, commit });
      fixture.clock.jump(ms);
      await expect(followClock.notice()).rejects.toBe(full);
      await followClock.notice();
      const dueAt = db.prepare<[], number>('SELECT due_at FROM items').pluck().get();
      db.close();
      expect((dueAt ?? 0) - fixture.clock.now()).toBe(MINUTE / 2);
    },
  );

  it('a ledger forgets a jump once the clock is set right', covers('clock-jump', 'I5', 'I6'), async () => {
    await waiting('unconfirmed');
    for (const jump of [ms, -ms]) {
      fixture.clock.jump(jump);
      expect(await doubtful()).toBe(0);
    }
    expect(await waitMs()).toBe(MINUTE / 2);
  });

  it('a ledger notices a jump of the clock while no process ran', covers('clock-jump', 'I5'), async () => {
    await waiting('unconfirmed');
    // The present clock is a new one to whoever opens the file.
    fixture.clock.jump(ms);
    const ledger = await fixture.reopen();
    await ledger.recover(0);
    fixture.clock.advance(MINUTE / 2);
    expect(await doubtful()).toBe(1);
  });
});

describe('when the clock is set back, the ledger', () => {
  const BACK = [
    { when: 'while a process runs', reopens: false },
    { when: 'while no process runs', reopens: true },
  ];
  const LOST: Reason = { code: 'reset', message: 'The connection was lost.' };
  const ANSWERED = delivered(101);
  let fixture: LedgerFixture;
  afterEach(() => fixture.remove());

  /** Sets the clock back by an hour, and returns the ledger that has followed it. */
  async function setBack(reopens: boolean): Promise<SqliteLedger> {
    fixture.clock.jump(-HOUR);
    const ledger = reopens ? await fixture.reopen() : fixture.ledger;
    if (reopens) await ledger.recover(0);
    await ledger.dueDeliveries({ afterId: 0, limit: 10 });
    return ledger;
  }

  it.each(BACK)(
    'a create that was acknowledged before a lost create is not taken for a later one after the clock is set back: $when',
    covers('clock-jump', 'I6'),
    async ({ reopens }) => {
      fixture = createLedgerFixture();
      const { ledger, clock } = fixture;
      await stageRows(ledger, { 1: items(product('1')), 2: items(product('2')), 3: items(product('3')) });
      for (const id of [1, 2]) {
        await claimOne(ledger, id);
        await settleOne(ledger, { id, decision: { ...ANSWERED, remoteId: 100 + id } });
      }
      // The create of the first product is in the history now.
      await stageRows(ledger, { 1: items(product('1', 'Changed')), 2: items(product('2')), 3: items(product('3')) });
      clock.advance(MINUTE);
      await claimOne(ledger, 3);
      clock.advance(1_000);
      const decision: Decision = { kind: 'unconfirmed', nextLookAt: clock.now() + 2_000, spend: true, reason: LOST };
      await settleOne(ledger, { id: 3, decision });

      const present = await setBack(reopens);
      clock.advance(2_000);
      const [lost] = await present.unconfirmedDeliveries({ limit: 10 });
      expect(lost?.key).toBe('3');
      const since = { kind: 'product', sentAfter: lost?.since ?? 0, besideId: 3 } as const;
      expect(await present.acknowledgedCreates(since)).toEqual([]);
      // Also later, when the clock shows the time again at which they were sent.
      clock.advance(2 * HOUR);
      expect(await present.acknowledgedCreates(since)).toEqual([]);
    },
  );

  it(
    'a create sent long after the last run is not taken for a later one after the clock is set back',
    covers('clock-jump', 'I6'),
    async () => {
      fixture = createLedgerFixture();
      const { ledger, clock } = fixture;
      await stageRows(ledger, { 1: items(product('1')), 2: items(product('2')) });
      clock.advance(3 * HOUR);
      await claimOne(ledger, 1);
      await settleOne(ledger, { id: 1, decision: ANSWERED });
      clock.advance(MINUTE);
      await claimOne(ledger, 2);

      const present = await setBack(true);
      clock.advance(2 * HOUR);
      const [lost] = await present.unconfirmedDeliveries({ limit: 10 });
      expect(lost?.key).toBe('2');
      const since = { kind: 'product', sentAfter: lost?.since ?? 0, besideId: 2 } as const;
      expect(await present.acknowledgedCreates(since)).toEqual([]);
    },
  );

  it.each(BACK)(
    'a list that was read before the clock was set back is read again from its beginning: $when',
    covers('clock-jump', 'I6'),
    async ({ reopens }) => {
      fixture = createLedgerFixture({ contactRules: { firstContact: 'list', bom: 'ask' } });
      const { ledger, clock } = fixture;
      await stageRows(ledger, { 1: items(product('1'), material('1')) });
      await ledger.beginListing('product');
      await ledger.endListing({ list: 'product', count: 0 });
      await ledger.beginListing('material');
      const entries = [{ remoteId: 7, fields: { code: 'M7' } }];
      await ledger.storeListed({ list: 'material', entries, position: 'page 2' });
      expect(await ledger.contactSteps()).toMatchObject([
        { kind: 'material', step: 'read', from: { position: 'page 2' } },
        { kind: 'product', step: 'compare' },
      ]);

      const present = await setBack(reopens);
      const again = [
        { kind: 'material', step: 'read', from: null, expected: null },
        { kind: 'product', step: 'read', from: null, expected: null },
      ];
      expect(await present.contactSteps()).toEqual(again);
      expect(await present.isFreshlyListed('product')).toBe(false);
      // Also later, when the clock shows the time again at which they were read.
      clock.advance(HOUR);
      expect(await present.contactSteps()).toEqual(again);
    },
  );
});

describe.each(JUMPS)('when the clock is set $jump, this process', ({ ms }) => {
  it('a process waits as long as the API asked when the clock jumps', covers('clock-jump', 'I5'), async () => {
    const clock = createManualClock();
    const controller = createLearntRate(null, () => 0);
    const target = { ping: () => Promise.reject(new Error('Nobody is to ask.')) };
    const options = { ownPublishKey: false, clock, random: () => 0, emit: () => undefined };
    const health = createApiHealth({ ...options, target, rate: controller });
    expect(health.admit()).toBe(0);
    const detail = { status: 429, message: 'Come back later.' };
    health.observe(
      { outcome: { kind: 'throttled', retryAfterMs: MINUTE, detail }, access: 'product.create', subject: 1 },
      0,
    );
    clock.jump(ms);
    clock.advance(MINUTE - 1);
    expect(health.admit()).toBeGreaterThan(0);
    clock.advance(1);
    expect(health.admit()).toBe(0);
  });

  it('a process does not answer with old state when the clock jumps', covers('clock-jump', 'I5'), async () => {
    const clock = createManualClock();
    let works = true;
    const health = createHealth({
      touchLedger: () => (works ? Promise.resolve() : Promise.reject(new Error('The disk is full.'))),
      ledgerLost: () => false,
      askQueue: () => Promise.resolve(),
      api: () => 'ok',
      apiWait: () => null,
      stopping: () => false,
      clock,
    });
    expect(await health.check()).toMatchObject({ ledger: 'ok' });
    works = false;
    clock.jump(ms);
    clock.advance(MINUTE);
    expect(await health.check()).toMatchObject({ ledger: 'unwritable' });
  });
});

describe('a sync', () => {
  let world: World;
  afterEach(() => world.remove());

  /** The machine's clock, wrong by as much as a test says. */
  function wrongClock(): { clock: Clock; setBy: (ms: number) => void } {
    let wrongMs = 0;
    const setBy = (ms: number): void => {
      wrongMs += ms;
    };
    return { clock: { ...systemClock, now: () => systemClock.now() + wrongMs }, setBy };
  }

  const QUICK = {
    list: { lagMs: 0 },
    settlingDelayMs: { reset: 20, timeout: 20 },
    retry: { attemptsMax: 10, backoff: { baseMs: 5, capMs: 20 } },
  };
  const LOSSES = ['product.create', 'material.create', 'passport.init', 'passport.publish'] as const;

  it(
    'a sync loses and doubles nothing while the clock jumps both ways and answers get lost',
    covers(['clock-jump', 'answer-lost'], ...ORACLE),
    async () => {
      const { clock, setBy } = wrongClock();
      world = await createWorld({
        config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
        files: smallFiles(SMALL),
        profile: QUICK,
        clock,
        sandbox: {
          gates: { materialData: { enabled: false } },
          idempotency: 'ignored',
          faults: [
            ...LOSSES.map((operation) => ({ operation, kind: 'reset-after' as const, count: 2 })),
            { operation: '*', kind: 'latency', ms: 50 },
          ],
        },
      });
      const syncing = world.sync({ waitMs: 60_000 });
      let done = false;
      const ended = syncing.finally(() => {
        done = true;
      });
      await vi.waitUntil(() => world.contents().products.length > 0, { timeout: WAIT_MS, interval: 5 });
      for (const ms of [-DAY, DAY, HOUR, -HOUR, DAY, -DAY, -HOUR]) {
        if (done) break;
        setBy(ms);
        await systemClock.sleep(120);
      }
      const report = await ended;
      expect(exitCodeOf(report)).toBe(0);
      const { products, materials, bomItems, publications } = world.contents();
      expect([products, materials, bomItems, publications].map((list) => list.length)).toEqual([3, 2, 4, 3]);
      expect(report.durationMs).toBeLessThan(HOUR / 2);
      const evidence = evidenceOf(world, { source: SMALL, bomItems: 'delivered', published: allSkus(SMALL) });
      expect(violations(evidence)).toEqual([]);
    },
  );

  it('a sync publishes what came while the clock was a day ahead', covers('clock-jump', 'I5'), async () => {
    const { clock, setBy } = wrongClock();
    const [erp] = SMALL_SOURCES;
    const of = (stream: 'products' | 'boms') => ({
      ...erp,
      id: stream,
      streams: { [stream]: erp?.streams[stream] },
      mappings: erp?.mappings.filter((mapping) => mapping.stream === stream),
    });
    // No product has a part, so only the time of the last read shows whether all of its parts are known.
    world = await createWorld({
      config: {
        sources: [of('products'), of('boms')],
        passports: { init: 'when-complete', publish: 'auto' },
      },
      files: smallFiles({ ...SMALL, lines: [] }),
      profile: QUICK,
      sandbox: { gates: { bomPresent: { enabled: false } } },
      clock,
    });
    const runtime = await world.open();
    const { signal: abort } = new AbortController();
    try {
      setBy(DAY);
      const first = await sync(runtime, { sources: ['products'], waitMs: 10_000, abort }, clock);
      expect(first.passports).toEqual({ incomplete: 3 });
      setBy(-DAY);
      const second = await sync(runtime, { sources: [], waitMs: 10_000, abort }, clock);
      expect(second.passports).toEqual({ published: 3 });
    } finally {
      await runtime.close();
    }
  });

  it(
    'a sync does not create a product again that a person made by hand after the clock had been a day ahead',
    covers('clock-jump', 'I6'),
    async () => {
      const { clock, setBy } = wrongClock();
      const [first, second] = ['1', '99'];
      const rows = (numbers: readonly string[]) => `NR\n${numbers.join('\n')}\n`;
      world = await createWorld({
        config: {
          sources: [
            {
              id: 'erp',
              connector: 'csv',
              streams: { products: { path: './erp.csv', key: ['NR'] } },
              mappings: [
                { stream: 'products', to: 'product', key: 'row.NR', fields: { sku: 'row.NR', name: 'row.NR' } },
              ],
            },
          ],
        },
        files: { 'erp.csv': rows([first]) },
        // The platform takes the same number twice, so only its list prevents a second product.
        sandbox: { duplicates: { taken: true } },
        clock,
      });
      setBy(DAY);
      expect((await world.sync()).items.product).toEqual({ delivered: 1 });
      setBy(HOUR - DAY);
      const made = await fetch(`${world.baseUrl}/api/products/`, {
        method: 'POST',
        headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ sku: second, name: 'Made by hand' }),
      });
      expect(made.status).toBe(201);
      world.write('erp.csv', rows([first, second, ...Array.from({ length: 25 }, (_, at) => String(100 + at))]));
      await world.sync();
      expect(world.contents().products.filter(({ sku }) => sku === second)).toHaveLength(1);
    },
  );
});
