/** Shorter names that differ by one letter are too often different words. */
const LENGTH_MIN = 3;

/**
 * True if two different names are so alike that one of them is almost certainly a misspelt form of the other one: they
 * differ in case, in two neighbours that are transposed, or in one additional character. A replaced character does not
 * count, because the names of one system often differ in this way: `E1MARAM` and `E1MARCM`, `FIELD01` and `FIELD02`.
 */
export function isMisspelt(name: string, other: string): boolean {
  if (name === other || Math.min(name.length, other.length) < LENGTH_MIN || digitsOf(name) !== digitsOf(other)) {
    return false;
  }
  const [long, short] = [name.toLowerCase(), other.toLowerCase()].toSorted((a, b) => b.length - a.length) as [
    string,
    string,
  ];
  let at = 0;
  while (at < short.length && long[at] === short[at]) at++;
  if (long.length === short.length) {
    const isTransposed = long[at] === short[at + 1] && long[at + 1] === short[at];
    return at === long.length || (isTransposed && long.slice(at + 2) === short.slice(at + 2));
  }
  return long.slice(at + 1) === short.slice(at);
}

function digitsOf(name: string): string {
  return name.replace(/\D/g, '');
}

const LENGTH_MAX = 64;

/**
 * The candidate that a person who wrote `name` most likely meant: the most similar one, if it differs little for its
 * length. A transposition counts as one edit, and a difference in case does not count.
 */
export function suggest(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.floor(name.length / 3) + 1) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** Optimal string alignment distance (Levenshtein's plus transpositions of neighbours). */
function editDistance(a: string, b: string): number {
  if (a.length > LENGTH_MAX || b.length > LENGTH_MAX) return a === b ? 0 : Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      }
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
