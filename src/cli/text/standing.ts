// Where items and passports stand, as a sync and `status` show it alike.

import type { ContactAttention } from '../../daemon/attention.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { GuardedRead } from '../../domain/ports/guarded-read.ts';
import { type ItemCounts, PASSPORT_STATES, type PassportCounts } from '../../domain/ports/ledger-views.ts';
import { kindWord, stateWord } from '../../domain/words.ts';
import { type Cell, formatCount, formatTable, type Paint } from './style.ts';
import { PASSPORT_COLOURS, STATE_COLOURS, STATES_IN_ORDER } from './words.ts';

/** A read that the guard held, for scripts. */
export function guardedDocument({ since, ...read }: GuardedRead): object {
  return { ...read, since: new Date(since).toISOString() };
}

/** What first contact leaves to a person, for scripts. */
export function contactDocument({ adopted, parts }: ContactAttention): object {
  return { adopted, unansweredParts: parts };
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

/** A count for a table; none at all is no news. */
export function countCell(count: number, colour: Cell['colour'] | null): Cell {
  if (count === 0) return { text: '0', colour: 'dim' };
  return colour === null || colour === undefined ? { text: formatCount(count) } : { text: formatCount(count), colour };
}
