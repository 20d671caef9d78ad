// The thread that makes one backup and ends. SQLite copies a large ledger for minutes, and the thread that syncs must not wait for it.

import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../lib/errors.ts';
import { loadSqlite } from '../store/database.ts';
import { ledgerFaultOf } from '../store/ledger-fault.ts';
import { type BackupAnswer, type BackupTask, backUpLedger, LOADED } from './backup.ts';

function answer(task: BackupTask): BackupAnswer {
  try {
    const { file, bytes } = backUpLedger({ ...task, force: false, onStep: () => undefined });
    return { ok: true, file, bytes };
  } catch (error) {
    return { ok: false, message: messageOf(ledgerFaultOf(error) ?? error) };
  }
}

loadSqlite();
parentPort?.postMessage(LOADED);
parentPort?.postMessage(answer(workerData as BackupTask));
