import type { Storage } from '../storage/storage.ts';

/** The rows of an import that was answered before they are stored. */
interface LateImport {
  organizationId: number;
  /** When the rows are stored: milliseconds since the Unix epoch. */
  at: number;
  /** Stores the rows as written at `now`, and returns the SKU of each product that it has written. */
  store: (now: number) => string[];
}

/**
 * Imports that are stored at a later time. They are only in memory, so the rows are lost if the sandbox ends before
 * that time.
 */
export interface LateImports {
  add(late: LateImport): void;
  /** Stores the imports that are due. Call it before each read and write, so that no timer is needed. */
  storeDue(now: number): void;
}

export function createLateImports({
  transact,
  writeCounts,
}: Pick<Storage, 'transact'> & { writeCounts: Pick<Storage['writeCounts'], 'add'> }): LateImports {
  let waiting: LateImport[] = [];
  return {
    add(late) {
      waiting.push(late);
    },
    storeDue(now) {
      if (!waiting.some(({ at }) => at <= now)) return;
      const due = waiting.filter(({ at }) => at <= now).toSorted((a, b) => a.at - b.at);
      waiting = waiting.filter(({ at }) => at > now);
      for (const { organizationId, at, store } of due) {
        transact(() => {
          for (const sku of store(at)) writeCounts.add(organizationId, 'product.import', sku);
        });
      }
    },
  };
}
