import { systemClock } from '../../../src/lib/clock.ts';
import { createQueues } from '../../../src/queue/create-queues.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

// A process that opens the embedded queue. Prints the time until it has received the first job, in milliseconds.
const begun = systemClock.ticks();
const queues = await createQueues({ url: 'embedded', prefix: 'child', log: createRecordingLog() });
const taken = Promise.withResolvers<void>();
await queues.consume('map', { concurrency: 1 }, () => {
  taken.resolve();
  return Promise.resolve({ status: 'done' });
});
await queues.enqueue('map', [{ name: 'map', data: {} }]);
await taken.promise;
process.stdout.write(`${systemClock.ticks() - begun}`);
await queues.close();
