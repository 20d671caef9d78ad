import type { PassportLedger } from '../domain/ports/ledger/delivery-ledger.ts';

/** Products that are evaluated in one transaction. Other work of the process runs between two transactions. */
const PAGE = 250;
/** If there is always other work, passports are evaluated this often nevertheless. */
const BUSY_INTERVAL_MS = 60_000;

/** Makes passports follow their products. The ledger decides which step a passport needs. */
export function createPassports(options: { ledger: Pick<PassportLedger, 'evaluatePassports'>; now: () => number }) {
  const { ledger, now } = options;
  // An earlier process may have ended before it evaluated the passports.
  let isDirty = true;
  let evaluatedAt = now();
  let pauses = 0;
  let running: Promise<number> | null = null;
  let requested = 0;

  async function evaluateAll(): Promise<number> {
    isDirty = false;
    let staged = 0;
    let afterKey: string | null = null;
    try {
      do {
        const page = await ledger.evaluatePassports({ afterKey, limit: PAGE });
        staged += page.staged;
        afterKey = page.lastKey;
      } while (afterKey !== null);
    } catch (error) {
      isDirty = true;
      throw error;
    }
    evaluatedAt = now();
    return staged;
  }

  /** Evaluates all passports if they are dirty. @returns the number of staged deliveries */
  async function evaluate(): Promise<number> {
    // An evaluation that is running may have passed the products that have become dirty since it began.
    const before = running === null ? 0 : await running;
    if (running === null && isDirty) {
      running = evaluateAll().finally(() => {
        running = null;
      });
    }
    return before + (running === null ? 0 : await running);
  }

  return {
    evaluate: evaluate,
    /** How many publications people have asked for that the ledger does not have yet. */
    requested: () => requested,
    /** Changes the number of these publications: call it before a long request, and as its parts are stored. */
    addRequested(count: number) {
      requested += count;
    },
    /**
     * Marks the passports as dirty, so that they are evaluated. Call it when a delivery was settled, records were mapped,
     * or a run has ended.
     */
    markDirty() {
      isDirty = true;
    },
    /**
     * Evaluates the passports once no other work is left, because most products are complete then. Call it at intervals.
     */
    async evaluateAtRest(atRest: boolean): Promise<number> {
      if (pauses > 0 || !(atRest || now() - evaluatedAt >= BUSY_INTERVAL_MS)) return 0;
      return evaluate();
    },
    /** Keeps `evaluateAtRest` from evaluating while more work is expected. @returns a function that ends the pause */
    pause(): () => void {
      pauses += 1;
      let over = false;
      return () => {
        if (!over) pauses -= 1;
        over = true;
      };
    },
  };
}

export type Passports = ReturnType<typeof createPassports>;
