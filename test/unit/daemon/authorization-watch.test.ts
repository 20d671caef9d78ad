import { afterEach, describe, expect, it } from 'vitest';
import { type AuthorizationWatch, createAuthorizationWatch } from '../../../src/daemon/authorization-watch.ts';
import { type Authorization, createAuthorization } from '../../../src/delivery/admission/authorization.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import type { Probe, ScopeAnswer } from '../../../src/domain/ports/target.ts';
import { covers } from '../../support/docs/reliability.ts';
import { createManualClock, type ManualClock } from '../../support/time/manual-clock.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const LOOK_MS = 500;
const INTERVAL_MS = 60_000;
const WORKS: Probe = { denied: null, plan: 'yes', scopes: { read: 'yes', write: 'yes', publish: 'yes' } };

const NO_DETAIL = { status: 401, message: 'No.' };

const denied = (by: 'key' | 'plan' | 'scope'): Outcome => ({
  kind: 'denied',
  by,
  detail: { status: 401, message: `The ${by} is not accepted.` },
});

describe('the authorization watch', () => {
  let clock: ManualClock;
  let api: Authorization;
  let watch: AuthorizationWatch;
  const log = createRecordingLog();
  /** The answers of the target, and the requests to it. */
  let answers: { probe: Probe | Error; keyChanged: boolean };
  let asked: string[];
  let told: string[];

  function start(): void {
    clock = createManualClock();
    api = createAuthorization({ ownPublishKey: false });
    log.lines.length = 0;
    asked = [];
    told = [];
    answers = { probe: WORKS, keyChanged: false };
    watch = createAuthorizationWatch({
      api: { ...api, authorization: () => api.state() },
      target: {
        async probe() {
          asked.push('probe');
          if (answers.probe instanceof Error) throw answers.probe;
          return answers.probe;
        },
        async rereadKey() {
          asked.push('key');
          return answers.keyChanged;
        },
      },
      onReopen: () => told.push('reopened'),
      emit: (event) =>
        told.push('scope' in event && event.scope !== null ? `${event.type} ${event.scope}` : event.type),
      clock,
      log,
      intervalMs: INTERVAL_MS,
    });
    watch.start();
  }
  afterEach(async () => {
    const stopped = watch.stop();
    clock.advance(INTERVAL_MS);
    await stopped;
  });
  /** Lets time pass once the watch waits for it. */
  async function pass(ms: number): Promise<void> {
    await clock.sleepers(1);
    clock.advance(ms);
    await clock.sleepers(1);
  }
  const errors = () => log.lines.filter(({ level }) => level === 'error').length;

  it('the authorization watch asks nothing while no hold is there', async () => {
    start();
    await pass(LOOK_MS);
    await pass(INTERVAL_MS);
    expect([asked, told]).toEqual([[], []]);
  });

  it('the authorization watch uses a rotated key at once', covers('key-refused', 'I5'), async () => {
    start();
    api.observe(denied('key'), 'product.create');
    answers.keyChanged = true;
    await pass(LOOK_MS);
    expect(asked).toEqual(['key', 'probe']);
    expect(told).toEqual(['paused', 'resumed', 'reopened']);
    expect(api.state()).toEqual({ open: true });
  });

  it(
    'the authorization watch asks once a minute without a rotated key, and logs the hold once however long it takes',
    covers('key-refused', 'I5'),
    async () => {
      start();
      api.observe(denied('plan'), 'read');
      answers.probe = { ...WORKS, denied: { by: 'plan', detail: { status: 402, message: 'No.' } } };
      await pass(LOOK_MS);
      expect(asked).toEqual(['key']);
      for (let minute = 0; minute < 5; minute += 1) await pass(INTERVAL_MS);
      expect(asked.filter((what) => what === 'probe')).toHaveLength(5);
      expect([errors(), told]).toEqual([1, ['paused']]);
      answers.probe = new Error('The API cannot be reached.');
      await pass(INTERVAL_MS);
      expect(api.state().open).toBe(false);
      answers.probe = WORKS;
      await pass(INTERVAL_MS);
      expect([api.state().open, errors(), told]).toEqual([true, 1, ['paused', 'resumed', 'reopened']]);
    },
  );

  const scopes = (read: ScopeAnswer, write: ScopeAnswer, publish: ScopeAnswer): Probe => ({
    ...WORKS,
    scopes: { read, write, publish },
  });

  it('the authorization watch waits for the very scope that is missing, and names it', async () => {
    start();
    api.observe(denied('scope'), 'product.create');
    answers.probe = scopes('yes', 'no', 'yes');
    await pass(LOOK_MS);
    await pass(INTERVAL_MS);
    expect([api.allows('product.create'), api.allows('passport.publish'), told]).toEqual([
      false,
      true,
      ['paused write'],
    ]);
    answers.probe = scopes('yes', 'yes', 'no');
    await pass(INTERVAL_MS);
    expect([api.allows('product.create'), told]).toEqual([true, ['paused write', 'resumed write', 'reopened']]);
    // The log does not say that it is over before a delivery has shown that.
    expect(log.lines).toHaveLength(1);
    api.observe({ kind: 'accepted', evidence: 'echo', remoteId: 1 }, 'product.create');
    await pass(LOOK_MS);
    expect(log.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'error: The API refuses the scope write for product.create; what needs it stays due, and all other deliveries are sent. The scope is not accepted.',
      'info: Deliveries continue, because the API no longer refuses the scope write for product.create.',
    ]);
  });

  it('the authorization watch reopens each scope when it is granted, however many are refused', async () => {
    start();
    api.observe(denied('scope'), 'passport.publish');
    await pass(LOOK_MS);
    api.observe(denied('scope'), 'read');
    answers.probe = { ...scopes('no', 'no', 'no'), denied: { by: 'scope', detail: { status: 403, message: 'No.' } } };
    await pass(LOOK_MS);
    await pass(INTERVAL_MS);
    answers.probe = scopes('no', 'yes', 'yes');
    await pass(INTERVAL_MS);
    expect([api.allows('passport.publish'), api.allows('read'), errors()]).toEqual([true, false, 2]);
    answers.probe = scopes('yes', 'yes', 'yes');
    await pass(INTERVAL_MS);
    expect([api.allows('read'), errors()]).toEqual([true, 2]);
  });

  it('the authorization watch keeps a refused scope closed while the key is refused, and after a key that lacks it too', async () => {
    start();
    api.observe(denied('scope'), 'passport.publish');
    await pass(LOOK_MS);
    api.observe(denied('key'), 'product.create');
    answers.probe = { ...scopes('unknown', 'unknown', 'unknown'), denied: { by: 'key', detail: NO_DETAIL } };
    await pass(LOOK_MS);
    await pass(INTERVAL_MS);
    expect([api.state().open, api.refused().size]).toEqual([false, 1]);
    answers.probe = scopes('yes', 'yes', 'no');
    await pass(INTERVAL_MS);
    expect([api.state().open, api.allows('product.create'), api.allows('passport.publish')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('the authorization watch tries once a minute if only a delivery can show the answer, and does not log that again', async () => {
    start();
    answers.probe = scopes('yes', 'unknown', 'unknown');
    api.observe(denied('scope'), 'product.create');
    await pass(LOOK_MS);
    for (let minute = 0; minute < 4; minute += 1) {
      await pass(INTERVAL_MS);
      expect(api.allows('product.create')).toBe(true);
      api.observe(denied('scope'), 'product.create');
      await pass(LOOK_MS);
    }
    expect([errors(), asked.filter((what) => what === 'probe').length]).toEqual([1, 4]);
    // While the API refuses, the log never says that it does not.
    const infos = () => log.lines.filter(({ level }) => level === 'info').length;
    expect(infos()).toBe(0);
    await pass(INTERVAL_MS);
    await pass(INTERVAL_MS);
    expect([api.refused().size, infos()]).toEqual([0, 1]);
  });

  it('a refusal that ended without proof is shown until an answer shows that the API grants it, or for a minute', async () => {
    start();
    answers.probe = scopes('yes', 'unknown', 'unknown');
    const refuse = async () => {
      api.observe(denied('scope'), 'product.create');
      await pass(LOOK_MS);
    };
    const sizes = () => [api.refused().size, api.shownRefusals().size];
    await refuse();
    expect(sizes()).toEqual([1, 1]);
    await pass(INTERVAL_MS);
    expect(sizes()).toEqual([0, 1]);
    expect([...api.refusedScopes(api.shownRefusals()).keys()]).toEqual(['write']);
    api.observe({ kind: 'accepted', evidence: 'echo', remoteId: 1 }, 'product.create');
    expect(sizes()).toEqual([0, 0]);
    await refuse();
    await pass(INTERVAL_MS);
    expect(sizes()).toEqual([0, 1]);
    // No delivery was left to find out.
    await pass(INTERVAL_MS);
    expect(sizes()).toEqual([0, 0]);
  });
});
