import type { Ledger } from '../domain/ports/ledger.ts';

/** Sees that passports follow their products. What is due for a passport is decided in the ledger. */
export interface Passports {
  /** Something happened after which a passport may be due: a delivery was settled, records were mapped, a run has ended. */
  markDirty(): void;
  /**
   * Judges all passports, unless nothing has happened since they were judged last. Gives the number of deliveries that
   * were staged.
   */
  evaluate(): Promise<number>;
  /** Judges as soon as the work has come to rest, which is when most products are complete. Call it now and then. */
  evaluateAtRest(atRest: boolean): Promise<number>;
  /** Keeps `look` from judging, while more is known to come. Call what it gives to end that. */
  pause(): () => void;
}

/** Products that are judged in one transaction, between two looks at the event loop. */
const PAGE = 250;
/** Where the work never comes to rest, passports are judged this often all the same. */
const RESTLESS_MS = 60_000;

export function createPassports(options: { ledger: Pick<Ledger, 'evaluatePassports'>; now: () => number }): Passports {
  const { ledger, now } = options;
  // An earlier process may have ended before it judged.
  let isDirty = true;
  let evaluatedAt = now();
  let pauses = 0;
  let running: Promise<number> | null = null;

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

  async function evaluate(): Promise<number> {
    if (running) return running;
    if (!isDirty) return 0;
    running = evaluateAll().finally(() => {
      running = null;
    });
    return running;
  }

  return {
    evaluate: evaluate,
    markDirty() {
      isDirty = true;
    },
    async evaluateAtRest(atRest) {
      if (pauses > 0 || !(atRest || now() - evaluatedAt >= RESTLESS_MS)) return 0;
      return evaluate();
    },
    pause() {
      pauses += 1;
      let over = false;
      return () => {
        if (!over) pauses -= 1;
        over = true;
      };
    },
  };
}
