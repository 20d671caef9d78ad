import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

// Loaded before a program, with `--import`. Writes the highest memory of the process in MB to descriptor 3 when the program ends.

// Each thread of the program loads this file too.
if (isMainThread) {
  process.on('exit', () => {
    writeSync(3, String(process.resourceUsage().maxRSS / 1024));
  });
}
