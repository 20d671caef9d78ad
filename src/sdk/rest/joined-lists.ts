// Rows at a path with `[*]`, which joins the lists of several elements: `$.orders[*].lines`.

import type { JsonValue } from '../../lib/json.ts';
import { EACH, listAt, type PathStep, valueAt } from '../document-path.ts';
import { signInRow } from './signs-of-more.ts';

export interface JoinedLists {
  rows: JsonValue[];
  /** How many elements the first list of the path has. Pages consist of them. */
  elements: number;
  /** Those of the rows that are elements without a list of their own, so that their rows are unknown. */
  lacking: ReadonlySet<JsonValue>;
  /** Where an inner list has further elements, which the answer does not contain; null if there is no such list. */
  cut: string | null;
}

/** The rows at a path, which need not have `[*]`; undefined if there is no list. */
export function joinedLists(document: JsonValue, steps: readonly PathStep[]): JoinedLists | undefined {
  const fork = steps.indexOf(EACH);
  const list = listAt(document, fork === -1 ? steps : steps.slice(0, fork));
  if (list === undefined) return undefined;
  const lacking = new Set<JsonValue>();
  let cut: string | null = null;
  const rest = fork === -1 ? [] : steps.slice(fork + 1);
  const rowsOf = (element: JsonValue, inner: readonly PathStep[]): JsonValue[] => {
    if (inner.length === 0) return [element];
    const next = inner.indexOf(EACH);
    const path = next === -1 ? inner : inner.slice(0, next);
    cut ??= signInRow(element, path);
    const found = valueAt(element, path) ?? null;
    if (Array.isArray(found)) return next === -1 ? found : found.flatMap((one) => rowsOf(one, inner.slice(next + 1)));
    if (found !== null && next === -1) return [found];
    lacking.add(element);
    return [element];
  };
  const rows = list.flatMap((element) => rowsOf(element, rest));
  return { rows, elements: list.length, lacking, cut };
}
