import type { Operation } from '../domain/delivery/operation.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';

/**
 * Knows for which operations the answers of this platform have repeated what was sent. An answer that repeats nothing is
 * then unusual, and proves nothing.
 */
export function createEchoes(ledger: DeliveryLedger) {
  const known = new Set<Operation>();
  let reading: Promise<void> | null = null;

  async function read(): Promise<void> {
    try {
      for (const operation of await ledger.echoedOperations()) known.add(operation);
    } catch {
      // The ledger is read again before the next decision. Until then only this process's own answers count.
      reading = null;
    }
  }

  return {
    /** Resolves when the ledger was read. Call it before `has`. */
    ready: () => (reading ??= read()),
    has: (operation: Operation) => known.has(operation),
    /** Learns that an answer has repeated what was sent. The ledger is written once for each operation. */
    add(operation: Operation) {
      if (known.has(operation)) return;
      known.add(operation);
      // Without the note the next process learns it again from an answer.
      ledger.storeEcho(operation).catch(() => undefined);
    },
  };
}

export type Echoes = ReturnType<typeof createEchoes>;
