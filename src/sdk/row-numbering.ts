/**
 * Numbers rows by their values: the first row with certain values is 1, the next one with the same values 2. Make the number
 * a field and a part of the key where the other columns do not identify a row, as where an article names the same part twice.
 *
 * Use one for all rows of a parent, so that the numbers of one article do not depend on the articles before it. The numbers
 * hold as long as rows with the same values keep their order: prefer a position that the source gives.
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
