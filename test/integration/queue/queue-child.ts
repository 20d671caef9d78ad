import { createQueues } from '../../../src/queue/create-queues.ts';
import { createListener } from '../../support/worlds/listener.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

// A process that uses the queues once and closes them. Nothing in it may then keep the process alive.
const url = process.argv[2] ?? 'embedded';
const queues = await createQueues({ url, prefix: `child-${process.pid}`, log: createRecordingLog() });
const listener = createListener();
await queues.consume('pull', { concurrency: 1 }, listener.handle);
const consumer = await queues.consume('map', { concurrency: 2 }, listener.handle);
await queues.enqueue('map', [{ name: 'map', data: {} }]);
await listener.until(1);
await consumer.close();
await queues.close();
process.stdout.write(`received ${listener.received.length}`);
