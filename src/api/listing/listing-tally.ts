type Id = string | number;

/** Counts the entries of a listing and decides whether it is complete. Each id needs about 100 bytes of memory during the read. */
export interface Tally {
  /** Adds a page of the first read. @returns the entries that were not seen before */
  take<Entry extends { identity: Id }>(entries: readonly Entry[], count: number | null): Entry[];
  has(id: Id): boolean;
  /** The number of different entries. */
  size(): number;
  /** The number of entries that the API stated last; null if it states none. */
  count(): number | null;
  /** Drops the counts, because each was the count of one page. */
  dropCount(): void;
  /** Why entries may be missing although the read has ended; null if none can be missing. */
  flaw(): Flaw | null;
  /** Adds a page of a second read. */
  confirm(entries: readonly { identity: Id }[]): void;
  /** Whether the second read showed the same entries as the first. */
  isConfirmed(): boolean;
  state(): TallyState;
}

export interface Flaw {
  reason: string;
  /** Entries moved, or were added or removed. Another read may succeed. */
  moved: boolean;
}

/** The part of a tally that is stored besides the ids. */
export interface TallyState {
  firstCount: number | null;
  lastCount: number | null;
  repeats: number;
  /** The number of repeated entries that a shift of the pages does not explain. */
  strays: number;
  fell: boolean;
}

const NOTHING_YET: TallyState = { firstCount: null, lastCount: null, repeats: 0, strays: 0, fell: false };

export function createTally(from?: { ids: Iterable<Id>; state: TallyState }): Tally {
  /** By id: whether the second read has shown the entry. */
  const seen = new Map<Id, boolean>();
  for (const id of from?.ids ?? []) seen.set(id, false);
  let { firstCount, lastCount, repeats, strays, fell } = from?.state ?? NOTHING_YET;
  let confirmed = 0;
  let others = 0;

  return {
    take(entries, count) {
      if (count !== null) {
        fell ||= lastCount !== null && count < lastCount;
        firstCount ??= count;
        lastCount = count;
      }
      const fresh = [];
      for (const entry of entries) {
        if (seen.has(entry.identity)) {
          repeats += 1;
          // New entries on earlier pages move the last entries of a page to the beginning of the next page.
          if (fresh.length > 0) strays += 1;
        } else {
          seen.set(entry.identity, false);
          fresh.push(entry);
        }
      }
      return fresh;
    },
    has: (id) => seen.has(id),
    size: () => seen.size,
    count: () => lastCount,
    dropCount() {
      firstCount = null;
      lastCount = null;
      fell = false;
    },
    flaw() {
      if (firstCount === null || lastCount === null) return null;
      if (fell) return { reason: 'entries were deleted while it was being read', moved: true };
      if (seen.size < firstCount) {
        const reason = `it counted ${firstCount} entries, and gave ${seen.size} different ones`;
        // A repeated id has taken the place of another entry.
        return { reason, moved: repeats > 0 };
      }
      const grown = lastCount - firstCount;
      if (repeats <= grown && strays === 0) return null;
      const reason = `entries moved while it was read: ${repeats} came twice and ${grown} were added, so other entries may be missing`;
      return { reason, moved: true };
    },
    confirm(entries) {
      for (const { identity } of entries) {
        const known = seen.get(identity);
        if (known === undefined) others += 1;
        if (known !== false) continue;
        seen.set(identity, true);
        confirmed += 1;
      }
    },
    isConfirmed: () => others === 0 && confirmed === seen.size,
    state: () => ({ firstCount, lastCount, repeats, strays, fell }),
  };
}
