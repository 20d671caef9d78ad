// Upgrades one ledger. Prints the time, the highest resident size, and the space on the disk that the upgrade needed.

import { readFileSync, statSync } from 'node:fs';
import { openDatabase } from '../../../src/ledger/store/database.ts';

const [file = ''] = process.argv.slice(2);
const before = statSync(file).size;
const began = performance.now();
let backedUp = began;
let backup = '';
let logBytes = 0;
const report = (fields: { backup?: string; ms?: number }): void => {
  logBytes = Math.max(logBytes, statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  if (fields.backup === undefined) return;
  backedUp = performance.now();
  backup = fields.backup;
};
openDatabase(file, { report }).close();
const ended = performance.now();
const [, peakKb = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
const room = statSync(backup).size + logBytes + statSync(file).size - before;
process.stdout.write(
  JSON.stringify({
    backupMs: backedUp - began,
    upgradeMs: ended - backedUp,
    peakMb: Number(peakKb) / 1024,
    before,
    room,
  }),
);
