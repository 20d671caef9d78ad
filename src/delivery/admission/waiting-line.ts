/** Somebody who waits for a turn. `admit` lets the request go out, `leave` sends it away, `fail` passes on why it cannot be asked about. */
export interface Waiting {
  delivery: number;
  urgent: boolean;
  abort: AbortSignal;
  /** Throws nothing; a promise may be rejected. */
  wanted: () => boolean | Promise<boolean>;
  admit: () => void;
  leave: () => void;
  fail: (error: unknown) => void;
}

/** Those who wait: the urgent ones before the others, and else in the order in which they came. */
export interface WaitingLine {
  add(one: Waiting): void;
  /** Whose turn it is. Those that have to step back come after everybody else. */
  first(stepsBack: ((one: Waiting) => boolean) | null): Waiting | undefined;
  remove(one: Waiting): void;
}

export function createWaitingLine(): WaitingLine {
  const urgent: Waiting[] = [];
  const bulk: Waiting[] = [];
  const lineOf = (one: Waiting): Waiting[] => (one.urgent ? urgent : bulk);
  return {
    add: (one) => void lineOf(one).push(one),
    first(stepsBack) {
      const head = urgent[0] ?? bulk[0];
      if (stepsBack === null || head === undefined || !stepsBack(head)) return head;
      const goesOn = (one: Waiting): boolean => !stepsBack(one);
      return urgent.find(goesOn) ?? bulk.find(goesOn) ?? head;
    },
    remove(one) {
      const line = lineOf(one);
      line.splice(line.indexOf(one), 1);
    },
  };
}
