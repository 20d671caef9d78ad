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
