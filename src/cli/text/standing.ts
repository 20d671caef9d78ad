// The states of items and passports, in the form that a sync and `status` share.

import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import type { ContactAttention } from '../../daemon/views/attention.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { GuardedRead } from '../../domain/ports/guarded-read.ts';
import {
  type ItemCounts,
  type ItemState,
  PASSPORT_STATES,
  type PassportCounts,
} from '../../domain/ports/ledger/ledger-views.ts';
import { kindWord, stateWord } from '../../domain/words.ts';
import { formatCount, plural } from './style.ts';
import { type Cell, formatTable, isWithin, type TableStyle } from './table.ts';
import { PASSPORT_COLOURS, STATE_COLOURS, STATES_IN_ORDER } from './words.ts';

/** What people read before the first sync. */
export function noLedgerText({ ledger }: Pick<RuntimeConfig, 'ledger'>): string {
  return `There is no ledger yet at ${ledger}: nothing has been synced. Begin with \`dpp-sync sync\`.`;
}

/** The document about a read that the guard holds, for scripts. */
export function guardedDocument({ since, ...read }: GuardedRead): object {
  return { ...read, since: new Date(since).toISOString() };
}

/** The messages of the guard, each with its stream. */
export function guardWarnings(guarded: readonly GuardedRead[]): string[] {
  return guarded.map(({ source, stream, message }) => `${source}/${stream}: ${message}`);
}

/** The document about the open questions of first contact, and about what was taken without proof, for scripts. */
export function contactDocument({ adopted, parts, unproven }: ContactAttention): object {
  return { adopted, unansweredParts: parts, unproven };
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
  const titles = used.map((title) => ({ title, align: 'right' as const }));
  return formatTable([{ title: '' }, ...titles], [row], style);
}

/** The next step for passports that the config leaves to people; empty if there are none. */
export function unpublishedLines(
  { initialized = 0, none = 0 }: PassportCounts,
  { passports }: Pick<RuntimeConfig, 'passports'>,
): string[] {
  const toPublish = (count: number): string =>
    `To publish if ${count === 1 ? 'its product is' : 'their products are'} complete: dpp-sync publish --all`;
  if (initialized > 0 && passports?.publish !== 'auto') {
    const count = plural(initialized, 'passport is', 'passports are');
    return [`${count} initialised and not published. ${toPublish(initialized)}`];
  }
  // With `passports` the config says that people initialise the passports, or that they come by themselves.
  if (none === 0 || passports !== null) return [];
  return [`${plural(none, 'product has', 'products have')} no passport. ${toPublish(none)}`];
}

/** A count for a table; a zero is dimmed. */
export function countCell(count: number, colour: Cell['colour'] | null): Cell {
  if (count === 0) return { text: '0', colour: 'dim' };
  return colour === null || colour === undefined ? { text: formatCount(count) } : { text: formatCount(count), colour };
}
