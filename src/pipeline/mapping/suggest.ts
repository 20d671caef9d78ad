const NAME_LENGTH_MAX = 64;

/** The candidate that a person most likely meant: equal but for case, or at most two edits away; else undefined. */
export function suggest(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.ceil(name.length / 2) + 1);
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein's distance; longer names than anyone types are never near. */
function editDistance(a: string, b: string): number {
  if (a === b) return 0;
  if (a.length > NAME_LENGTH_MAX || b.length > NAME_LENGTH_MAX) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
