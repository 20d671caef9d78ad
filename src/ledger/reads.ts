import type { WireForms } from '../domain/delivery/wire-form.ts';
import type { PassportRules } from '../domain/passport.ts';
import type { DashboardViews } from '../domain/ports/ledger/dashboard-views.ts';
import type { LedgerViews } from '../domain/ports/ledger/ledger-views.ts';
import type { Questions, Reads } from '../domain/ports/ledger/reads.ts';
import type { LedgerHolder } from './file/lock.ts';
import { readMeta } from './store/meta.ts';
import { assertPresentSchema, openToRead } from './upgrade/open.ts';
import { inOneMoment, type ViewReads } from './views/view-reads.ts';
import { createViews } from './views/views.ts';

const OF_LEDGER: Record<keyof LedgerViews, true> = {
  itemCounts: true,
  standing: true,
  sourceRuns: true,
  attention: true,
  openDeliveries: true,
  versions: true,
  lastRuns: true,
  run: true,
  guardedReads: true,
  heldRuns: true,
  stuckItems: true,
  emptyStreams: true,
  refusedReads: true,
  unmappedSources: true,
  productsInQuarantine: true,
  quarantinedCount: true,
  quarantined: true,
  quarantinedRow: true,
  recordsNamed: true,
  lookupEntries: true,
  itemsAfter: true,
  item: true,
  passport: true,
  passportsOf: true,
  passportBlockers: true,
  stuck: true,
  stuckCauses: true,
  deferred: true,
  delivery: true,
  waitingFor: true,
  suspended: true,
  adoptedChanges: true,
  otherForms: true,
  streamIdentity: true,
  unansweredParts: true,
  unproven: true,
  apiWait: true,
  daemonNote: true,
  importProofs: true,
  bomCycles: true,
};

const OF_DASHBOARD: Record<keyof DashboardViews, true> = {
  sourceCounts: true,
  items: true,
  itemDetail: true,
  why: true,
  quarantine: true,
  quarantinedRows: true,
  searchQuarantined: true,
  causes: true,
  cause: true,
  causeMembers: true,
  goneEffects: true,
  goneRows: true,
  passports: true,
  passportCounts: true,
  activity: true,
  history: true,
  runs: true,
  actions: true,
  lookupValues: true,
};

/** The questions, each asked by its name. */
export function readsBy(ask: (question: keyof Questions, args: unknown[]) => Promise<unknown>): Reads {
  const names = Object.keys({ ...OF_LEDGER, ...OF_DASHBOARD }) as (keyof Questions)[];
  return Object.fromEntries(names.map((name) => [name, (...args: unknown[]) => ask(name, args)])) as unknown as Reads;
}

/** Answers the questions in this process, over one connection. The dashboard's files are loaded at the first question that needs them. */
export function readsHere(reads: ViewReads): Reads {
  const views = createViews(reads);
  let dashboard: Promise<DashboardViews> | null = null;
  async function loadDashboard(): Promise<DashboardViews> {
    const { createDashboard } = await import('./dashboard/dashboard-views.ts');
    return createDashboard(reads.db, reads.passportRules, reads.wireForms).views;
  }
  return readsBy(async (question, args) => {
    return answerOf(question in views ? views : await (dashboard ??= loadDashboard()), question, args, reads);
  });
}

/** Answers a question with data of one moment. */
export function answerOf(
  views: LedgerViews | DashboardViews,
  question: keyof Questions,
  args: unknown[],
  reads: ViewReads,
): unknown {
  const answer = views[question as never] as (...given: unknown[]) => unknown;
  return inOneMoment(reads, () => answer(...args));
}

/**
 * Opens the ledger for reading only, beside a process that writes it. Null if there is no ledger yet.
 *
 * @throws Fault `ledger.restored` if a ledger was here and is gone, `ledger.linked`, `ledger.unreadable`, `ledger.newer` or
 *   `ledger.older`
 */
export function openLedgerReads(options: {
  file: string;
  passportRules: PassportRules;
  /** The forms in which the profile of this process sends items. */
  forms: WireForms;
}): { id: string; reads: Reads; close(): void } | null {
  const db = openToRead(options.file);
  if (!db) return null;
  assertPresentSchema(db, options.file);
  return {
    id: readMeta({ db }, 'id') ?? '',
    reads: readsHere({ db, passportRules: options.passportRules, wireForms: options.forms }),
    close: () => void db.close(),
  };
}

export function readHolder(file: string): LedgerHolder | null {
  const db = openToRead(file);
  if (!db) return null;
  try {
    const text = readMeta({ db }, 'holder');
    return text === null ? null : (JSON.parse(text) as LedgerHolder);
  } finally {
    db.close();
  }
}
