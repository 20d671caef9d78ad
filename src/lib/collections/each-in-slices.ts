/** At most this many calls are made at the same time. */
const SLICE = 1_000;

/** Calls `work` for each entry, for the entries of a slice at the same time. Rejects as soon as one call rejects. */
export async function eachInSlices<Entry>(
  entries: readonly Entry[],
  work: (entry: Entry) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < entries.length; from += SLICE) {
    await Promise.all(entries.slice(from, from + SLICE).map(work));
  }
}
