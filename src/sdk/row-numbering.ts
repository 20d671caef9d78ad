/**
 * Numbers rows by their values: the first row with certain values is 1, the next row with the same values is 2. Make
 * the number a field and a part of the key if the other columns do not identify a row, for example because an article
 * names the same part twice.
 *
 * Create a separate numbering for the rows of each article, so that its numbers do not depend on the articles before
 * it. The numbers only stay the same while rows with the same values keep their order, so prefer a position that the
 * source gives.
 */
export function createRowNumbering(): (...values: readonly string[]) => number {
  const counts = new Map<string, number>();
  return (...values) => {
    const identity = JSON.stringify(values);
    const number = (counts.get(identity) ?? 0) + 1;
    counts.set(identity, number);
    return number;
  };
}
