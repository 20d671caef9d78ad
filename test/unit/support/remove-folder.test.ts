import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { removeFolder } from '../../support/machine/remove-folder.ts';

/** Writes files into the folder until the folder is gone, or until it has written enough. */
const WRITER = `
  const { writeFileSync } = require('node:fs');
  const { parentPort, workerData } = require('node:worker_threads');
  try {
    for (let file = 0; file < 2_000; file += 1) {
      writeFileSync(workerData + '/' + file, '');
      if (file === 100) parentPort.postMessage('writing');
    }
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }`;

it('a folder of a test is removed although a thread still writes files into it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-remove-'));
  const writer = new Worker(WRITER, { eval: true, workerData: folder });
  const ended = once(writer, 'exit');
  await once(writer, 'message');
  await removeFolder(folder);
  expect(existsSync(folder)).toBe(false);
  await ended;
});
