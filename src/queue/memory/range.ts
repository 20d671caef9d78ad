/** The entries from `start` to `end`, both included; negative numbers count from the end, as in Redis. */
export function rangeOf<T>(entries: Iterable<T>, size: number, start: number, end: number): T[] {
  const first = start < 0 ? Math.max(0, size + start) : start;
  const last = end < 0 ? size + end : end;
  const found: T[] = [];
  let index = 0;
  for (const entry of entries) {
    if (index > last) break;
    if (index >= first) found.push(entry);
    index += 1;
  }
  return found;
}
