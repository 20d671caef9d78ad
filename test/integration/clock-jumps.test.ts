import Database from 'better-sqlite3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { exitCodeOf, sync } from '../../src/daemon/sync.ts';
import { createApiHealth } from '../../src/delivery/admission/api-health.ts';
import { createRateController } from '../../src/delivery/rate/rate-controller.ts';
import { fault } from '../../src/domain/faults.ts';
import type { Decision } from '../../src/domain/ports/decision.ts';
import type { Reason } from '../../src/domain/reason.ts';
import { readMark } from '../../src/ledger/identity/mark.ts';
import { createFollowClock } from '../../src/ledger/store/follow-clock.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createHealth } from '../../src/observe/health.ts';
import { allSkus, evidenceOf, violations } from '../support/invariants.ts';
import {
  claimOne,
  createLedgerFixture,
  items,
  type LedgerFixture,
  mapRows,
  product,
  pullRows,
  row,
  settleOne,
} from '../support/ledger.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { covers, ORACLE } from '../support/reliability.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../support/small-export.ts';
import { createWorld, type World } from '../support/world.ts';

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

  /** One delivery that was attempted, with a decision that has it wait for half a minute. */
  async function waiting(kind: 'retry' | 'unconfirmed' | 'blocked'): Promise<void> {
    fixture = createLedgerFixture();
    const { ledger, clock } = fixture;
    await pullRows(ledger, { rows: [row('A')] });
    await mapRows(ledger, () => items(product('A')));
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

  it('lets a retry wait as long as it was to', covers('clock-jump', 'I5'), async () => {
    await waiting('retry');
    fixture.clock.jump(ms);
    expect(await due()).toBe(0);
    expect(await waitMs()).toBe(MINUTE / 2);
    fixture.clock.advance(MINUTE / 2);
    expect(await due()).toBe(1);
  });

  it(
    'reads an unconfirmed delivery back neither before its delay is over nor a day later',
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

  it('asks what a gate has blocked again when it was to', covers('clock-jump', 'I5'), async () => {
    await waiting('blocked');
    const recheck = async () => (await fixture.ledger.recheckBlocked({ limit: 10 })).staged;
    fixture.clock.jump(ms);
    expect(await recheck()).toBe(0);
    fixture.clock.advance(MINUTE / 2 - 1);
    expect(await recheck()).toBe(0);
    fixture.clock.advance(1);
    expect(await recheck()).toBe(1);
  });

  it('counts the commit in which it follows', covers('clock-jump', 'I8'), async () => {
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
    'follows it later where the disk was full when it was noticed',
    covers(['clock-jump', 'disk-full'], 'I5'),
    async () => {
      await waiting('unconfirmed');
      const db = new Database(fixture.file);
      const full = fault('ledger.unwritable', 'The ledger cannot be written.');
      const answers = [() => Promise.reject(full)];
      const commit = { run: async <T>(write: () => T): Promise<T> => (await answers.pop()?.()) ?? write() };
      const followClock = createFollowClock({ db, clock: fixture.clock, commit });
      fixture.clock.jump(ms);
      await expect(followClock.notice()).rejects.toBe(full);
      await followClock.notice();
      const dueAt = db.prepare<[], number>('SELECT due_at FROM items').pluck().get();
      db.close();
      expect((dueAt ?? 0) - fixture.clock.now()).toBe(MINUTE / 2);
    },
  );

  it('has forgotten it once the clock is set right again', covers('clock-jump', 'I5', 'I6'), async () => {
    await waiting('unconfirmed');
    for (const jump of [ms, -ms]) {
      fixture.clock.jump(jump);
      expect(await doubtful()).toBe(0);
    }
    expect(await waitMs()).toBe(MINUTE / 2);
  });

  it('notices it as well when no process was there', covers('clock-jump', 'I5'), async () => {
    await waiting('unconfirmed');
    // The present clock is a new one to whoever opens the file.
    fixture.clock.jump(ms);
    const ledger = await fixture.reopen();
    await ledger.recover(0);
    fixture.clock.advance(MINUTE / 2);
    expect(await doubtful()).toBe(1);
  });
});

describe.each(JUMPS)('when the clock is set $jump, this process', ({ ms }) => {
  it('waits as long as the API has asked for', covers('clock-jump', 'I5'), async () => {
    const clock = createManualClock();
    const controller = createRateController(null, () => 0);
    const target = { ping: () => Promise.reject(new Error('Nobody is to ask.')) };
    const options = { ownPublishKey: false, clock, random: () => 0, emit: () => undefined };
    const health = createApiHealth({ ...options, target, rate: controller });
    expect(health.admit()).toBe(0);
    const detail = { status: 429, message: 'Come back later.' };
    health.observe({ outcome: { kind: 'throttled', retryAfterMs: MINUTE, detail }, scope: 'write', subject: 1 }, 0);
    clock.jump(ms);
    clock.advance(MINUTE - 1);
    expect(health.admit()).toBeGreaterThan(0);
    clock.advance(1);
    expect(health.admit()).toBe(0);
  });

  it('does not answer with what it knew before', covers('clock-jump', 'I5'), async () => {
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
    'loses and doubles nothing while the clock is set to and fro, with answers that get lost',
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
      await vi.waitUntil(() => world.contents().products.length > 0, { timeout: 60_000, interval: 5 });
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

  it('publishes what came while the clock was a day ahead', covers('clock-jump', 'I5'), async () => {
    const { clock, setBy } = wrongClock();
    const [erp] = SMALL_SOURCES;
    const of = (stream: 'products' | 'boms') => ({
      ...erp,
      id: stream,
      streams: { [stream]: erp?.streams[stream] },
      mappings: erp?.mappings.filter((mapping) => mapping.stream === stream),
    });
    // No product has a part, so that nothing but the time of the last read tells whether all of its parts are known.
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
});
