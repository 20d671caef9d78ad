import { describe, expect, it } from 'vitest';
import type { ApiWait } from '../../../src/domain/delivery/outcome.ts';
import { type ApiStanding, createHealth } from '../../../src/observe/health.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

function createWard() {
  const clock = createManualClock();
  const ward = {
    clock,
    api: 'ok' as ApiStanding,
    apiWait: null as ApiWait | null,
    stopping: false,
    ledger: (): Promise<void> => Promise.resolve(),
    lost: false,
    queue: (): Promise<unknown> => Promise.resolve({}),
    touches: 0,
  };
  const health = createHealth({
    touchLedger() {
      ward.touches += 1;
      return ward.ledger();
    },
    ledgerLost: () => ward.lost,
    askQueue: () => ward.queue(),
    api: () => ward.api,
    apiWait: () => ward.apiWait,
    stopping: () => ward.stopping,
    clock,
  });
  return { ward, health };
}

describe('the health', () => {
  it('a process is healthy when ledger, queue and API are', async () => {
    expect(await createWard().health.check()).toEqual({ status: 'ok', ledger: 'ok', queue: 'ok', api: 'ok' });
  });

  it.each(['unreachable', 'denied_key', 'denied_plan', 'denied_scope'] as const)(
    'a process is degraded, which is no reason to restart, while the API is %s',
    async (api) => {
      const { ward, health } = createWard();
      ward.api = api;
      expect(await health.check()).toMatchObject({ status: 'degraded', api });
    },
  );

  it('a process is degraded while the API asks to wait, and shows until when and no text of the API', async () => {
    const { ward, health } = createWard();
    ward.api = 'throttled';
    const since = Date.UTC(2027, 0, 15);
    ward.apiWait = { since, until: since + 86_400_000, askAgainAt: since + 60_000, message: 'Quota of acme.' };
    expect(await health.check()).toEqual({
      status: 'degraded',
      ledger: 'ok',
      queue: 'ok',
      api: 'throttled',
      apiWait: {
        since: '2027-01-15T00:00:00.000Z',
        until: '2027-01-16T00:00:00.000Z',
        askAgainAt: '2027-01-15T00:01:00.000Z',
      },
    });
  });

  it('a process is unhealthy while the ledger cannot be written', async () => {
    const { ward, health } = createWard();
    ward.ledger = () => Promise.reject(new Error('The disk is full.'));
    const since = new Date(ward.clock.now()).toISOString();
    expect(await health.check()).toEqual({
      status: 'unhealthy',
      ledger: 'unwritable',
      queue: 'ok',
      api: 'ok',
      downSince: { ledger: since },
    });
    ward.clock.advance(60_000);
    expect((await health.check()).downSince).toEqual({ ledger: since });
    ward.ledger = () => Promise.resolve();
    ward.clock.advance(60_000);
    expect(await health.check()).toEqual({ status: 'ok', ledger: 'ok', queue: 'ok', api: 'ok' });
  });

  it('a process is unhealthy from the moment that its ledger is lost, also while it stops and whatever it found before', async () => {
    const { ward, health } = createWard();
    expect(await health.check()).toMatchObject({ status: 'ok' });
    Object.assign(ward, { lost: true, stopping: true });
    expect(await health.check()).toEqual({ status: 'unhealthy', ledger: 'lost', queue: 'ok', api: 'ok' });
  });

  it('a process is unhealthy while the queue gives no answer in time', async () => {
    const { ward, health } = createWard();
    ward.queue = () => new Promise(() => undefined);
    const answer = health.check();
    await ward.clock.sleepers(1);
    ward.clock.advance(3000);
    expect(await answer).toMatchObject({ status: 'unhealthy', queue: 'unreachable' });
  });

  it('a process that stops shows that in its health', async () => {
    const { ward, health } = createWard();
    ward.stopping = true;
    expect(await health.check()).toMatchObject({ status: 'stopping' });
  });

  it('the health check writes to the ledger no more often than every two seconds, however often it is asked', async () => {
    const { ward, health } = createWard();
    await Promise.all(Array.from({ length: 50 }, () => health.check()));
    ward.clock.advance(1999);
    await health.check();
    expect(ward.touches).toBe(1);
    ward.clock.advance(1);
    await health.check();
    expect(ward.touches).toBe(2);
  });
});
