import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { createQueues } from '../../../src/queue/create-queues.ts';

// A process that closes its queues while it handles a job. Meanwhile a test stops Redis. The test sends a line on stdin
// when the process may continue.
const say = (line: string) => process.stdout.write(`${line}\n`);
const lines = createInterface({ input: process.stdin });
const log = {
  debug: () => undefined,
  info: () => undefined,
  warn: (_: object, message: string) => void process.stderr.write(`${message}\n`),
  error: (_: object, message: string) => void process.stderr.write(`${message}\n`),
};

const queues = await createQueues({ url: process.argv[2] ?? '', prefix: 'away', log });
await queues.consume('pull', { concurrency: 1 }, () => Promise.resolve({ status: 'done' }));
await queues.consume('map', { concurrency: 2 }, async () => {
  say('handling');
  await once(lines, 'line');
  const closing = queues.close();
  say('closing');
  closing.then(
    () => say('closed'),
    (error: unknown) => say(`not closed: ${String(error)}`),
  );
  await once(lines, 'line');
  lines.close();
  return { status: 'done' };
});
await queues.enqueue('map', [{ name: 'map', data: {} }]);
