import type { ListView } from '../api/operation.ts';
import type { Entity } from '../items/collection.ts';

/** All rows of a collection, or the rows that pass a filter, in their order. */
export interface Rows {
  count: number;
  slice(range: { offset: number; limit: number }): Entity[];
}

export function arrayRows(entities: Entity[]): Rows {
  return { count: entities.length, slice: ({ offset, limit }) => entities.slice(offset, offset + limit) };
}

/** The rows of a distorted list: one that lags behind, has moved or has no order. */
export function viewed(rows: Rows, { moved, lagMs, random }: ListView, now: number): Rows {
  const all = rows.slice({ offset: 0, limit: rows.count });
  const shown = lagMs === 0 ? all : all.filter(({ createdAt }) => Date.parse(createdAt) <= now - lagMs);
  const from = shown.length === 0 ? 0 : moved % shown.length;
  const turned = [...shown.slice(from), ...shown.slice(0, from)];
  return arrayRows(random === null ? turned : shuffled(turned, random));
}

/** Shuffles rows with the algorithm of Fisher and Yates. */
function shuffled(rows: Entity[], random: () => number): Entity[] {
  for (let at = rows.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    const moving = rows[at];
    const replaced = rows[other];
    if (moving === undefined || replaced === undefined) continue;
    rows[at] = replaced;
    rows[other] = moving;
  }
  return rows;
}
