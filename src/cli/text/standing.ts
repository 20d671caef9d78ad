// The states of items and passports, in the form that a sync and `status` share.

import type { LedgerConfig } from '../../config/loaded-config.ts';
import type { StageCounts } from '../../delivery/delivery-window.ts';
import { hasTrait } from '../../domain/delivery/stored-reason.ts';
import type { ItemKind } from '../../domain/item.ts';
import { PASSPORT_STATES, type PassportCounts } from '../../domain/passport.ts';
import type { BackupStatus, ReloadStatus } from '../../domain/ports/ledger/care-ledger.ts';
import type { ItemCounts, ItemState, RefusedWork } from '../../domain/ports/ledger/ledger-standing.ts';
import { UNUSED_IMPORTS } from '../../domain/words/holds.ts';
import { kindWord, STATES_IN_ORDER, stateWord } from '../../domain/words/states.ts';
import type { Words } from '../../domain/words/word.ts';
import { sentence } from '../../lib/errors.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { formatBytes, formatTime, type Paint, printable } from './style.ts';
import { type Cell, formatTable, isWithin, type TableStyle } from './table.ts';
import { PASSPORT_COLOURS, STATE_COLOURS } from './words.ts';

/** What people read before the first sync. */
export function noLedgerText({ ledger }: LedgerConfig): string {
  return `There is no ledger yet at ${ledger}: nothing has been synced. Begin with \`dpp-sync sync\`.`;
}

/**
 * A table of kinds by state; states without items are left out. In a narrow terminal each state has a separate line.
 */
export function itemLines(items: ItemCounts, style: TableStyle): string[] {
  const kinds = Object.keys(items) as ItemKind[];
  const used = STATES_IN_ORDER.filter(
    (state) => state === 'delivered' || kinds.some((kind) => (items[kind][state] ?? 0) > 0),
  );
  const cellOf = (kind: ItemKind, state: ItemState): Cell => countCell(items[kind][state] ?? 0, STATE_COLOURS[state]);
  const right = (title: string) => ({ title, align: 'right' as const });
  const lines = formatTable(
    [{ title: 'item' }, ...used.map((state) => right(stateWord(state)))],
    kinds.map((kind) => [kindWord(kind), ...used.map((state) => cellOf(kind, state))]),
    style,
  );
  if (isWithin(lines, style)) return lines;
  return formatTable(
    [{ title: 'state' }, ...kinds.map((kind) => right(`${kindWord(kind)}s`))],
    used.map((state) => [stateWord(state), ...kinds.map((kind) => cellOf(kind, state))]),
    style,
  );
}

/** Passports by state, in one row; empty if no passports are wanted. */
export function passportLines(passports: PassportCounts, style: TableStyle): string[] {
  const used = PASSPORT_STATES.filter((state) => (passports[state] ?? 0) > 0);
  if (used.every((state) => state === 'none')) return [];
  const row = ['passport', ...used.map((state) => countCell(passports[state] ?? 0, PASSPORT_COLOURS[state]))];
  const titles = used.map((state) => ({ title: stateWord(state), align: 'right' as const }));
  return formatTable([{ title: '' }, ...titles], [row], style);
}

/** The next step for passports that the config leaves to people; empty if there are none. */
export function unpublishedLines({ initialized = 0, none = 0 }: PassportCounts, { passports }: LedgerConfig): string[] {
  const toPublish = (count: number): string =>
    `To publish if ${count === 1 ? 'its product is' : 'their products are'} complete: dpp-sync publish --all`;
  if (initialized > 0 && passports?.publish !== 'auto') {
    const count = counted(initialized, 'passport is', 'passports are');
    return [`${count} prepared and not public. ${toPublish(initialized)}`];
  }
  // With `passports` the config says that people initialise the passports, or that they come by themselves.
  if (none === 0 || passports !== null) return [];
  return [`${counted(none, 'product has', 'products have')} no passport. ${toPublish(none)}`];
}

/** A count for a table; a zero is dimmed. */
export function countCell(count: number, colour: Cell['colour'] | null): Cell {
  if (count === 0) return { text: '0', colour: 'dim' };
  return colour === null || colour === undefined ? { text: formatCount(count) } : { text: formatCount(count), colour };
}

/** Lines about the daemon's last reload, about backups, and about paused sources. */
export function careLines(
  options: {
    reload: ReloadStatus | null;
    backup: BackupStatus | null;
    sources: readonly { source: string; paused: boolean; pausedUntil: number | null; due: boolean }[];
  },
  makesBackups: boolean,
): string[] {
  const { reload, backup, sources } = options;
  const pauses = sources.flatMap(({ source, paused, pausedUntil, due }) => {
    if (!paused) return [];
    const none = 'no run of this source begins automatically';
    if (pausedUntil === null) return [`The source ${source} is paused, and its pauses leave no gap: ${none}.`];
    const begins = due ? ' A run is due and begins when the pause ends.' : '';
    return [`The source ${source} is paused until ${formatTime(pausedUntil)}: ${none}.${begins}`];
  });
  return [...pauses, ...reloadLines(reload), ...backupLines(backup, makesBackups)];
}

function reloadLines(reload: ReloadStatus | null): string[] {
  if (reload === null || reload.ok) return [];
  const title = reload.held
    ? `The changed config waits for a decision since ${formatTime(reload.at)}. The daemon keeps the former settings:`
    : `The daemon has refused the config at ${formatTime(reload.at)} and keeps the former settings:`;
  return [title, ...reload.errors.map((error) => `  ${printable(error)}`)];
}

function backupLines(backup: BackupStatus | null, makesBackups: boolean): string[] {
  if (!makesBackups) return [];
  const last = backup?.last ?? null;
  const made =
    last === null
      ? 'No backup has been made yet: the daemon makes one at its scheduled time.'
      : `Last backup: ${formatTime(last.madeAt)}, ${formatBytes(last.bytes)}, ${printable(last.file)}`;
  if (backup === null || backup.ok) return [made];
  return [
    made,
    `The backup at ${formatTime(backup.at)} has failed: ${printable(backup.error ?? 'no reason was kept')}`,
  ];
}

/** Lines about deliveries that are not sent because the API refuses their operation, the key or the plan. */
export function refusedLines(refused: readonly RefusedWork[], paint: Paint): string[] {
  const lines = refused.map(({ operation, count, reason }) => {
    const are = counted(count, 'delivery is', 'deliveries are');
    const what = hasTrait(reason, 'scope_denied') ? operation : `the key or the plan (${operation})`;
    return paint(
      'red',
      `${are} due and not sent, because the API refuses ${what}: ${printable(sentence(reason.message))}`,
    );
  });
  if (lines.length === 0) return [];
  const isImport = refused.some(({ operation }) => operation === 'product.import');
  return [
    ...lines,
    '  Correct the key or its rights: dpp-sync check shows them. Then the daemon or the next sync sends all due deliveries.',
    ...(isImport ? [`  ${UNUSED_IMPORTS.refused.title} ${UNUSED_IMPORTS.refused.cure}`] : []),
  ];
}

/** The deliveries of a daemon by stage. */
export function deliveriesLines(deliveries: StageCounts | null): string[] {
  if (deliveries === null) return [];
  const { inFlightSince, inFlight, ...others } = deliveries;
  const shown = Object.entries({ ...others, 'in flight': inFlight }).map(([stage, n]) => `${formatCount(n)} ${stage}`);
  const since = inFlightSince === null ? '' : `, the first since ${formatTime(inFlightSince)}`;
  return [`Deliveries: ${shown.join(', ')}${since}`];
}

// Why bulk imports are not used for new products or for changed ones.

/** What `status` shows about the imports for one use. */
interface Import {
  state: string;
  message?: string;
  until?: number;
}

/** The lines that say why imports are not used; empty if they are. */
export function importLines({ creates, changes }: { creates: Import; changes: Import }, now: number): string[] {
  return [...linesOf(creates, now, UNUSED_IMPORTS.creates), ...linesOf(changes, now, UNUSED_IMPORTS.changes)];
}

function linesOf({ state, message = '', until = 0 }: Import, now: number, { title, cure }: Words): string[] {
  const isPutOff = state === 'postponed' && now < until;
  if (state !== 'failed' && !isPutOff) return [];
  const again = isPutOff ? `after ${formatTime(until)}` : 'when `imports` in the profile has changed';
  return ['', `${title} ${printable(message)} Imports are tried again ${again}. ${cure}`];
}
