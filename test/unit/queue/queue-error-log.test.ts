import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createErrorLog } from '../../../src/queue/queue-errors.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

test('the same error is logged once a minute, with the number of those left out', () => {
  const log = createRecordingLog();
  const clock = createManualClock();
  const onError = createErrorLog(log, clock);
  for (let times = 0; times < 1_000; times += 1) onError('worker map', new Error('connect ECONNREFUSED'));
  onError('worker map', new Error('another'));
  onError('worker pull', new Error('connect ECONNREFUSED'));
  expect(log.lines).toHaveLength(3);
  clock.advance(60_000);
  onError('worker map', new Error('connect ECONNREFUSED'));
  expect(log.lines.at(-1)).toMatchObject({
    level: 'warn',
    fields: { origin: 'worker map', error: 'connect ECONNREFUSED', leftOut: 999 },
  });
});

test('an error keeps to its message, since ioredis puts commands with their arguments on its errors', () => {
  const log = createRecordingLog();
  const error = Object.assign(new Error('WRONGPASS'), { command: { args: ['AUTH', 'hunter2secret'] } });
  createErrorLog(log, createManualClock())('Redis', error);
  expect(JSON.stringify(log.lines)).not.toContain('hunter2secret');
});

test('errors of ever new kinds are all logged', () => {
  const log = createRecordingLog();
  const onError = createErrorLog(log, createManualClock());
  for (let kind = 0; kind < 500; kind += 1) onError('worker map', new Error(`missing lock for job ${kind}`));
  expect(log.lines).toHaveLength(500);
});

test('errors that differ in the job alone are one kind', () => {
  const log = createRecordingLog();
  const onError = createErrorLog(log, createManualClock());
  for (let times = 0; times < 500; times += 1) {
    onError('worker map', new Error(`Missing key for job ${randomUUID()}. moveToFinished`));
  }
  expect(log.lines).toHaveLength(1);
});
