import type { JsonObject } from '../../lib/json.ts';

/** A row of the server of the kit. */
export interface ApiRow {
  fields: JsonObject;
  /** Its place in the order. A row that comes later has a higher one. */
  place: number;
  /** When it was changed, by the clock of the server; null if it was never changed. */
  changedAt: number | null;
  isGone: boolean;
  /** True for a row that takes its position in a page and is left out of the answer, as a filter for permissions does it. */
  isHidden: boolean;
}

/** The rows of the server of the kit, which change while they are read. */
export function createApiRows(all: readonly JsonObject[], now: () => number) {
  const own = (fields: JsonObject, place: number): ApiRow => ({
    fields,
    place,
    changedAt: null,
    isGone: false,
    isHidden: false,
  });
  const rows = all.map(own);
  const placeOf = (at: number): number => there()[at]?.place ?? Number.POSITIVE_INFINITY;
  const there = (): ApiRow[] => rows.filter(({ isGone }) => !isGone).toSorted((a, b) => a.place - b.place);

  return {
    /** The rows that are there, in order. */
    there,
    /** The rows that were changed or removed at or after a time. */
    changedSince: (at: number): ApiRow[] =>
      rows.filter(({ changedAt }) => changedAt !== null && changedAt >= at).toSorted((a, b) => a.place - b.place),
    /** The place of the row with a value, also of one that is gone; undefined for a value that no row has had. */
    placeWith: (isIt: (fields: JsonObject) => boolean): number | undefined =>
      rows.find(({ fields }) => isIt(fields))?.place,
    add(fields: JsonObject, where: 'first' | 'last'): void {
      const places = rows.map(({ place }) => place);
      const place = where === 'first' ? Math.min(0, ...places) - 1 : Math.max(0, ...places) + 1;
      rows.push({ ...own(fields, place), changedAt: now() });
    },
    remove(at: number): void {
      const row = there()[at];
      if (row === undefined) return;
      row.isGone = true;
      row.changedAt = now();
    },
    moveToEnd(at: number): void {
      const row = there()[at];
      if (row !== undefined) row.place = Math.max(...rows.map(({ place }) => place)) + 1;
    },
    change(at: number, to: (fields: JsonObject) => JsonObject, time = now()): void {
      const row = there()[at];
      if (row === undefined) return;
      row.fields = to(row.fields);
      row.changedAt = time;
    },
    hide(from: number, to: number): void {
      for (const row of there().slice(from, to)) row.isHidden = true;
    },
    removeHidden(): void {
      for (const row of rows) if (row.isHidden) row.isGone = true;
    },
    placeOf,
  };
}

export type ApiRows = ReturnType<typeof createApiRows>;
