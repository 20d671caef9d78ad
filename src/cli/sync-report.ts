import { exitCodeOf, type SyncReport } from '../daemon/sync.ts';
import type { ItemKind } from '../domain/item.ts';
import {
  type ItemCounts,
  type LedgerViews,
  PASSPORT_STATES,
  type PassportCounts,
  type StuckDelivery,
  type WaitingGroup,
} from '../domain/ports/ledger-views.ts';
import { acceptedLines, type ContactAttention, contactLines } from './contact-lines.ts';
import { errorDocument, failureOf } from './errors.ts';
import {
  type Cell,
  formatCount,
  formatDuration,
  formatTable,
  type Paint,
  plural,
  printable,
  shorten,
} from './style.ts';
import { kindWord, PASSPORT_COLOURS, STATE_COLOURS, STATES_IN_ORDER, stateWord } from './words.ts';

/** The result of a sync as the interface contract has it. */
export function syncDocument(report: SyncReport): { ok: boolean } & Record<string, unknown> {
  const { runs, items, passports, requests, durationMs, warnings, fault } = report;
  const { sent, throttled, retried } = requests;
  return {
    ok: exitCodeOf(report) === 0,
    runs: runs.map(({ source, stream, read, unchanged, changed, quarantined, excluded, missing }) => ({
      source,
      stream,
      read,
      unchanged,
      changed,
      quarantined,
      excluded,
      missing,
    })),
    items,
    passports,
    requests: { sent, throttled, retried },
    durationMs: Math.round(durationMs),
    warnings,
    accepted: report.accepted,
    ...(fault === null ? {} : { error: errorDocument(failureOf(fault)) }),
  };
}

/** What first contact leaves to a person, for scripts. */
export function contactDocument({ suspended, adopted, parts }: ContactAttention): object {
  return { suspended, adopted, unansweredParts: parts };
}

/** What people have to know of the ledger to go on. */
export interface Attention extends ContactAttention {
  /** What deliveries wait for and what does not come by itself; the most waited for first. */
  waitingFor: WaitingGroup[];
  stuck: StuckDelivery[];
  /** Items in doubt that need nobody. */
  doubtsUnderWay: number;
  quarantined: number;
  passports: PassportCounts;
}

/** States out of which a person has to help. */
const NEEDING = ['blocked', 'rejected', 'parked', 'in_doubt'] as const;
const GROUPS_MAX = 200;
const SHOWN_MAX = 5;

/** @param sources whose doubts, quarantined records and passports count; empty for all */
export function attentionOf(views: LedgerViews, sources: readonly string[]): Attention {
  const onTheWay = (state: WaitingGroup['state']) => state === 'due' || state === 'sending';
  return {
    waitingFor: views.waitingFor(GROUPS_MAX).filter(({ state }) => !onTheWay(state)),
    stuck: views.stuck(SHOWN_MAX),
    doubtsUnderWay: views.doubtsUnderWay(sources),
    quarantined: views.quarantinedCount(sources),
    passports: views.passportCounts(sources),
    suspended: views.suspended(),
    adopted: views.adoptedChanges(sources),
    parts: views.unansweredParts(sources),
  };
}

export function runLines({ runs }: SyncReport, paint: Paint): string[] {
  if (runs.length === 0) return [];
  const right = { align: 'right' } as const;
  const columns = ['read', 'unchanged', 'changed', 'quarantined', 'excluded', 'missing'] as const;
  const rows = runs.map((account) => [
    `${account.source}/${account.stream}`,
    ...columns.map((name) => countCell(account[name], name === 'quarantined' || name === 'missing' ? 'yellow' : null)),
  ]);
  return formatTable([{ title: 'stream' }, ...columns.map((title) => ({ title, ...right }))], rows, paint);
}

/** A table of kinds by state; states that no item is in are left out. */
export function itemLines(items: ItemCounts, paint: Paint): string[] {
  const kinds = Object.keys(items) as ItemKind[];
  const used = STATES_IN_ORDER.filter(
    (state) => state === 'delivered' || kinds.some((kind) => (items[kind][state] ?? 0) > 0),
  );
  const rows = kinds.map((kind) => [
    kindWord(kind),
    ...used.map((state) => countCell(items[kind][state] ?? 0, STATE_COLOURS[state])),
  ]);
  const titles = used.map((state) => ({ title: stateWord(state), align: 'right' as const }));
  return formatTable([{ title: 'item' }, ...titles], rows, paint);
}

/** Passports by where they stand, in one row; nothing where nobody wants any. */
export function passportLines(passports: PassportCounts, paint: Paint): string[] {
  const used = PASSPORT_STATES.filter((state) => (passports[state] ?? 0) > 0);
  if (used.every((state) => state === 'none')) return [];
  const row = ['passport', ...used.map((state) => countCell(passports[state] ?? 0, PASSPORT_COLOURS[state]))];
  const titles = used.map((title) => ({ title, align: 'right' as const }));
  return formatTable([{ title: '' }, ...titles], [row], paint);
}

/** What waits and why, what needs a person, what is quarantined; nothing where all is well. */
export function attentionLines(items: ItemCounts, attention: Attention, paint: Paint): string[] {
  const lines = contactLines(attention, paint);
  const waiting = countOf(items, ['waiting']);
  if (waiting > 0 && attention.waitingFor.length > 0) {
    const goes = waiting === 1 ? 'It goes out by itself' : 'They go out by themselves';
    lines.push(
      paint('yellow', `${plural(waiting, 'item waits', 'items wait')} for others to be delivered. ${goes} then.`),
    );
    for (const { kind, key, state, count } of attention.waitingFor.slice(0, SHOWN_MAX)) {
      const why = state === null ? 'which no usable record gives' : `which is ${stateWord(state)}`;
      lines.push(`  ${formatCount(count)} for ${kindWord(kind)} ${printable(key)}, ${why}`);
    }
    if (attention.waitingFor.length > SHOWN_MAX) lines.push('  … all of them: dpp-sync items --state waiting');
  }
  const { blocked = 0, incomplete = 0 } = attention.passports;
  // A daemon beside may settle doubts between the two counts.
  const needingIn = (state: (typeof NEEDING)[number]): number =>
    Math.max(0, countOf(items, [state]) - (state === 'in_doubt' ? attention.doubtsUnderWay : 0));
  const needing = NEEDING.reduce((sum, state) => sum + needingIn(state), 0);
  if (needing + blocked > 0) {
    const parts = [
      ...(needing > 0 ? [plural(needing, 'item', 'items')] : []),
      ...(blocked > 0 ? [plural(blocked, 'passport', 'passports')] : []),
    ];
    const verb = needing + blocked === 1 ? 'needs' : 'need';
    lines.push(paint('red', `${parts.join(' and ')} ${verb} a person:`));
    for (const { kind, key, naturalKey, state, reason } of attention.stuck) {
      const name = naturalKey === null || naturalKey === key ? key : `${key} (${naturalKey})`;
      lines.push(
        `  ${kindWord(kind)} ${printable(name)} is ${stateWord(state)}: ${shorten(printable(reason.message), 160)}`,
      );
    }
    const lists = NEEDING.filter((state) => needingIn(state) > 0 || (state === 'blocked' && blocked > 0)).map(
      (state) => `dpp-sync items --state ${state}`,
    );
    lines.push(`  What can be done: dpp-sync show KIND KEY, or for all: ${lists.join(' and ')}`);
  }
  if (incomplete > 0) {
    lines.push(
      paint('yellow', `${plural(incomplete, 'passport waits', 'passports wait')} for their products to be complete.`),
      '  What is missing: dpp-sync show product KEY',
    );
  }
  if (attention.quarantined > 0) {
    lines.push(
      paint(
        'yellow',
        `${plural(attention.quarantined, 'record is', 'records are')} quarantined, as ${attention.quarantined === 1 ? 'it' : 'they'} could not be mapped.`,
      ),
      '  Which and why: dpp-sync quarantine, or as a file for the team of the source: dpp-sync quarantine --out FILE',
    );
  }
  return lines;
}

/** What a sync did, for people. */
export function reportLines(report: SyncReport, attention: Attention, paint: Paint): string[] {
  const { items, requests, durationMs, warnings } = report;
  const notes = warnings.slice(0, SHOWN_MAX).map((warning) => `${paint('yellow', 'warning:')} ${printable(warning)}`);
  if (warnings.length > SHOWN_MAX) notes.push(`  … and ${warnings.length - SHOWN_MAX} more warnings`);
  const extra = [
    ...(requests.throttled > 0 ? [`${formatCount(requests.throttled)} throttled`] : []),
    ...(requests.retried > 0 ? [`${formatCount(requests.retried)} sent again`] : []),
  ];
  const detail = extra.length === 0 ? '' : ` (${extra.join(', ')})`;
  const sections = [
    runLines(report, paint),
    itemLines(items, paint),
    passportLines(report.passports, paint),
    notes,
    acceptedLines(report.accepted),
    attentionLines(items, attention, paint),
    [`${plural(requests.sent, 'request')}${detail} in ${formatDuration(durationMs)}. ${verdict(report, paint)}`],
  ];
  return sections.filter((lines) => lines.length > 0).flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

function verdict(report: SyncReport, paint: Paint): string {
  const exitCode = exitCodeOf(report);
  if (exitCode === 0) return paint('green', 'All is delivered.');
  if (exitCode === 4) return paint('yellow', 'Finished, with something left to look at (exit code 4).');
  return paint('red', 'Not finished.');
}

/** How many items are in these states, of whatever kind. */
export function countOf(items: ItemCounts, states: readonly (keyof ItemCounts[ItemKind])[]): number {
  return Object.values(items).reduce(
    (sum, counts) => sum + states.reduce((inner, state) => inner + (counts[state] ?? 0), 0),
    0,
  );
}

function countCell(count: number, colour: Cell['colour'] | null): Cell {
  if (count === 0) return { text: '0', colour: 'dim' };
  return colour === null || colour === undefined ? { text: formatCount(count) } : { text: formatCount(count), colour };
}
