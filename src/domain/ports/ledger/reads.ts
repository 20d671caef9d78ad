// The one reader of the ledger: questions of people and of programs, answered with plain JSON. Commands answer them in their own
// process; the daemon asks a thread of its own, so that no answer takes time of the thread that syncs.

import type { DaemonNotes } from './care-ledger.ts';
import type { DashboardViews } from './dashboard-views.ts';
import type { LedgerViews } from './ledger-views.ts';

/** Everything that can be asked. Each answer is of one moment. */
export interface Questions extends LedgerViews, DashboardViews {}

type Later<Of> = {
  [Name in keyof Of]: Of[Name] extends (...args: infer Args) => infer Answer
    ? (...args: Args) => Promise<Answer>
    : never;
};

/** The questions, answered later. Each promise may reject with the fault that the answer throws. */
export interface Reads extends Later<Omit<Questions, 'daemonNote'>> {
  daemonNote<Name extends keyof DaemonNotes>(name: Name): Promise<DaemonNotes[Name] | null>;
}
