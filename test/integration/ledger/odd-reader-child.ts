// A reading thread that fails as the tests need it. A question about run 1 ends the thread, and one about run 2 is
// never answered. One about run 3 is answered when the file `go` exists beside the ledger. All others are answered at
// once.

import { existsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { EndRequest, Question, ReaderData } from '../../../src/ledger/reader/ledger-reader.ts';

const { file } = workerData as ReaderData;
const pause = new Int32Array(new SharedArrayBuffer(4));

parentPort?.on('message', (message: readonly Question[] | EndRequest) => {
  if ('end' in message) process.exit();
  for (const {
    id,
    args: [run],
  } of message) {
    if (run === 1) throw new Error('planned end');
    if (run === 2) continue;
    if (run === 3) while (!existsSync(`${file}.go`)) Atomics.wait(pause, 0, 0, 1);
    parentPort?.postMessage({ id, ok: true, value: run });
  }
});
