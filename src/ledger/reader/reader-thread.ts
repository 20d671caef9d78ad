// The thread that reads the ledger for the dashboard. It opens the ledger for reading only, at its first question, and answers one
// question after the other. It writes nothing, and it never waits for the thread that writes.

import { parentPort, workerData } from 'node:worker_threads';
import { fault } from '../../domain/faults.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { Questions } from '../../domain/ports/ledger/reads.ts';
import { giveWay } from '../../lib/give-way.ts';
import { createDashboard } from '../dashboard/dashboard-views.ts';
import { watchFile } from '../file/file.ts';
import { answerOf } from '../reads.ts';
import { ledgerFaultOf } from '../store/ledger-fault.ts';
import { readMeta } from '../store/meta.ts';
import { assertPresentSchema, openToRead } from '../upgrade/open.ts';
import { inOneMoment, type ViewReads } from '../views/view-reads.ts';
import { createViews } from '../views/views.ts';
import { type Answer, type EndRequest, type Question, type ReaderData, toSent } from './ledger-reader.ts';

const { file, ledgerId, forms, warms } = workerData as ReaderData;

/** The rules of the last question. The views read them at each use. */
let rules: PassportRules | null = null;
/** When the last question was sent. */
let askedAt = 0;

interface Opened {
  /** Answers a question. All its data is of one moment. */
  ask(question: keyof Questions, args: unknown[]): unknown;
  /** Does the work with data of one moment. */
  inOneMoment(work: () => void): void;
  /** Reads for some milliseconds what lists need in memory; true while there is more to read. */
  warm(): boolean;
  /** How the file has changed since it was opened, as the end of a sentence; null if it has not changed. */
  change(): string | null;
  close(): void;
}

let opened: Opened | null = null;

function open(passportRules: PassportRules): Opened {
  // The watch begins before the file is opened, so that a change between the two steps is noticed.
  const change = watchFile(file, { alone: false });
  const db = openToRead(file);
  if (db === null) throw lostFault('was removed');
  assertPresentSchema(db, file);
  if (readMeta({ db }, 'id') !== ledgerId) {
    db.close();
    throw lostFault('was replaced by another ledger');
  }
  const reads: ViewReads = { db, passportRules, wireForms: forms };
  const dashboard = createDashboard(db, passportRules, forms, { ticks: () => askedAt });
  const views = createViews(reads, dashboard.totals);
  return {
    ask: (question, args) => answerOf(question in views ? views : dashboard.views, question, args, reads),
    inOneMoment: (work) => inOneMoment(reads, work),
    warm: () => dashboard.warm(),
    change,
    close: () => void db.close(),
  };
}

/** The opened ledger. Throws after the file was removed or replaced, because this thread would show the old file. */
function ledger(passportRules: PassportRules): Opened {
  rules = Object.assign(rules ?? passportRules, passportRules);
  opened ??= open(rules);
  const change = opened.change();
  if (change !== null) throw lostFault(change);
  return opened;
}

function lostFault(change: string): Error {
  return fault('ledger.lost', `${file} ${change} while this process worked on it.`, {
    path: 'ledger',
    suggestion:
      'Stop every process that uses the ledger. If the file still exists, put it back. Otherwise run `dpp-sync ledger restore BACKUP`. Then start again.',
  });
}

function answer({ id, question, args, passportRules, ticks }: Question): Answer {
  askedAt = ticks;
  try {
    return { id, ok: true, value: ledger(passportRules).ask(question, args) };
  } catch (error) {
    return { id, ok: false, error: toSent(ledgerFaultOf(error) ?? error) };
  }
}

/**
 * Answers questions that were asked together, such as those of one page, in one moment: SQLite then reads its pages once for all of
 * them, and not again for each question while a sync writes. The moment begins after they were asked, so they see every earlier write.
 */
function answerAll(questions: readonly Question[]): void {
  const answerEach = (): void => {
    for (const question of questions) parentPort?.postMessage(answer(question));
  };
  const [first] = questions;
  try {
    if (first !== undefined) ledger(first.passportRules);
  } catch {
    // Each question meets the same error, and reports it.
  }
  if (opened === null) answerEach();
  else opened.inOneMoment(answerEach);
}

/** True while the thread continues to read for lists between two questions. */
let isWarming = false;

function warmLater(): void {
  if (isWarming || !warms) return;
  isWarming = true;
  setImmediate(() => {
    isWarming = false;
    if (warm()) warmLater();
  });
}

function warm(): boolean {
  try {
    return opened?.warm() === true;
  } catch {
    // The next question meets the same error, and reports it.
    return false;
  }
}

giveWay();
parentPort?.on('message', (message: readonly Question[] | EndRequest) => {
  if ('end' in message) {
    opened?.close();
    process.exit();
  }
  answerAll(message);
  warmLater();
});
