/**
 * Attempts that go on after their doorbell was heard: one that takes its time holds nothing but its own request. A bounded
 * number (I9), so that what is due waits in the ledger and not here.
 */
export interface InHand {
  /**
   * Begins an attempt for each delivery, as room comes; one that is in hand already is not begun again. Resolves once all have
   * begun, or as soon as the work is stopped.
   *
   * @returns how many were begun
   */
  take(deliveryIds: readonly number[], abort: AbortSignal): Promise<number>;
  /** Begins an attempt at once, whether or not there is room, unless it is in hand already. */
  begin(deliveryId: number): void;
  count(): number;
  /** Resolves once none is left. */
  ended(): Promise<void>;
}

export function createInHand(options: {
  countMax: number;
  /** Never rejects. */
  attempt: (deliveryId: number) => Promise<void>;
  /** Called for each once it is in hand no more. */
  onEnd: (deliveryId: number) => void;
}): InHand {
  const { countMax, attempt, onEnd } = options;
  const running = new Map<number, Promise<void>>();
  let room = Promise.withResolvers<void>();

  async function run(id: number): Promise<void> {
    try {
      await attempt(id);
    } finally {
      // First of all: once it may be rung for anew, it has to be possible to take it anew.
      running.delete(id);
      onEnd(id);
      room.resolve();
      room = Promise.withResolvers();
    }
  }

  function begin(id: number): void {
    running.set(id, run(id));
  }

  return {
    begin(id) {
      if (!running.has(id)) begin(id);
    },
    async take(deliveryIds, abort) {
      let begun = 0;
      for (const id of deliveryIds) {
        while (running.size >= countMax && !abort.aborted) await room.promise;
        if (abort.aborted) break;
        if (running.has(id)) continue;
        begin(id);
        begun += 1;
      }
      return begun;
    },
    count: () => running.size,
    async ended() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}
