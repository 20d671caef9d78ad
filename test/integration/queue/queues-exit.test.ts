import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { QUEUE_BACKENDS } from '../../support/servers/queue-backends.ts';

const CHILD = join(import.meta.dirname, 'queue-child.ts');

for (const backend of QUEUE_BACKENDS) {
  backend.describe(`a process with the ${backend.name} queues`, () => {
    test('a process with queues ends by itself once they are closed, and the queues print nothing', async () => {
      const place = await backend.start();
      try {
        // A process that does not end is killed, and then this rejects.
        const child = promisify(execFile)(process.execPath, [CHILD, place.url], { timeout: WAIT_MS });
        expect(await child).toEqual({ stdout: 'received 1', stderr: '' });
      } finally {
        await place.stop();
      }
    });
  });
}
