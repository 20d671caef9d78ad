import { expect, it } from 'vitest';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import { createEventBus } from '../../../src/observe/event-bus.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const EVENT: ProgressEvent = { type: 'request', operation: 'ping', outcome: 'accepted', retry: false, latencyMs: null };

it('the event bus passes an event to all listeners where one of them throws, and logs its error once', () => {
  const log = createRecordingLog();
  const bus = createEventBus({ log });
  const seen: string[] = [];
  const defect = new Error('A defect.');
  bus.subscribe(() => void seen.push('first'));
  const end = bus.subscribe(() => {
    seen.push('failing');
    throw defect;
  });
  bus.subscribe(() => void seen.push('last'));
  bus.emit(EVENT);
  bus.emit(EVENT);
  end();
  bus.emit(EVENT);
  expect(seen.join(' ')).toBe('first failing last first failing last first last');
  expect(log.lines).toMatchObject([{ level: 'error', fields: { err: defect, event: 'request' } }]);
});
