import { expect, it } from 'vitest';
import { createSentLog } from '../../../src/daemon/sent-log.ts';
import type { DeliveryState } from '../../../src/domain/delivery/delivery.ts';
import type { Operation } from '../../../src/domain/delivery/operation.ts';
import { logFields, withLogFields } from '../../../src/lib/logging/logging.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

const SENT = { sentAt: 1, answeredAt: 2 };

function createWard() {
  const clock = createManualClock();
  const lines: { fields: object; message: string }[] = [];
  const info = (fields: object, message: string) => void lines.push({ fields: { ...logFields(), ...fields }, message });
  const log = createSentLog({ log: { info }, clock });
  const settle = (operation: Operation, state: DeliveryState, count: number, times: typeof SENT | null = SENT) => {
    for (let at = 0; at < count; at += 1) {
      log.observe({
        type: 'settled',
        kind: 'product',
        key: `P-${at}`,
        operation,
        state,
        revision: 1,
        times,
        status: null,
        latencyMs: null,
        reason: null,
        failedAgain: false,
      });
    }
  };
  const taken = () => lines.splice(0).map(({ message }) => message);
  return { clock, lines, log, settle, taken };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('the log says once a minute what was sent, by kind and operation, and nothing while nothing is sent', async () => {
  const { clock, lines, settle, taken } = createWard();
  settle('product.create', 'delivered', 400);
  settle('product.create', 'due', 7);
  settle('passport.init', 'delivered', 400);
  settle('bom_item.create', 'delivered', 1);
  settle('product.update', 'rejected', 3);
  settle('product.update', 'in_doubt', 2);
  // These were looked up, and are as they were.
  settle('product.update', 'in_doubt', 5, null);
  clock.advance(59_000);
  await turn();
  expect(lines).toEqual([]);
  clock.advance(1000);
  await turn();
  expect(lines).toEqual([
    {
      fields: { sent: { 'product.create': 400, 'passport.init': 400, 'bom_item.create': 1 }, rejected: 3, in_doubt: 2 },
      message:
        'Sent to the platform: 400 products created, 400 passports prepared, 1 BOM item created, 3 rejected, 2 without an answer yet.',
    },
  ]);
  taken();
  clock.advance(600_000);
  await turn();
  expect(lines).toEqual([]);
  settle('passport.publish', 'delivered', 1);
  clock.advance(60_000);
  await turn();
  expect(taken()).toEqual(['Sent to the platform: 1 passport published.']);
});

it('the log says at the end of a run and at the end of the daemon what was sent since the last line', async () => {
  const { clock, log, settle, taken } = createWard();
  settle('material.create', 'delivered', 2);
  log.observe({ type: 'run_ended', source: 'erp', result: 'complete' });
  expect(taken()).toEqual(['Sent to the platform: 2 materials created.']);
  settle('material.update', 'delivered', 2);
  log.stop();
  expect(taken()).toEqual(['Sent to the platform: 2 materials changed.']);
  log.stop();
  clock.advance(600_000);
  await turn();
  expect(taken()).toEqual([]);
});

it('a line about everything that was sent names neither the run nor the source at whose end it is written', async () => {
  const { clock, lines, log, settle } = createWard();
  const sent = [{ fields: { sent: { 'product.import': 1 } }, message: 'Sent to the platform: 1 product imported.' }];
  settle('product.import', 'delivered', 1);
  withLogFields({ source: 'materials', run: 23 }, () =>
    log.observe({ type: 'run_ended', source: 'materials', result: 'complete' }),
  );
  expect(lines.splice(0)).toEqual(sent);
  withLogFields({ source: 'materials', run: 24 }, () => settle('product.import', 'delivered', 1));
  clock.advance(60_000);
  await turn();
  expect(lines).toEqual(sent);
});
