import type { Operation } from '../domain/delivery/operation.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import { kindWord } from '../domain/words/states.ts';
import type { Clock } from '../lib/clock.ts';
import { type Logger, withoutLogFields } from '../lib/logging/logging.ts';
import { isStillUnconfirmed } from '../observe/event-bus.ts';

const EVERY_MS = 60_000;

/** What an operation has done with its item. */
const DONE: Readonly<Record<Operation, string>> = {
  'product.create': 'created',
  'product.update': 'changed',
  'product.import': 'imported',
  'material.create': 'created',
  'material.update': 'changed',
  'bom_item.create': 'created',
  'bom_item.update': 'changed',
  'passport.init': 'prepared',
  'passport.publish': 'published',
  'passport.unpublish': 'withdrawn',
};

/** The states of deliveries that were sent and did not arrive, or may not have arrived. */
const OTHERS = {
  rejected: 'rejected',
  blocked: 'blocked',
  parked: 'given up',
  in_doubt: 'without an answer yet',
} as const;
const isOther = (state: string): state is keyof typeof OTHERS => Object.hasOwn(OTHERS, state);

/** Logs how much was sent: at most once a minute while deliveries end, and at the end of each run. */
export function createSentLog({ log, clock }: { log: Pick<Logger, 'info'>; clock: Clock }) {
  const sent = new Map<Operation, number>();
  const others = new Map<keyof typeof OTHERS, number>();
  let timer: AbortController | null = null;

  function report(): void {
    timer?.abort();
    timer = null;
    if (sent.size + others.size === 0) return;
    const arrived = [...sent].map(([operation, count]) => `${itemsWord(operation, count)} ${DONE[operation]}`);
    const rest = [...others].map(([state, count]) => `${count} ${OTHERS[state]}`);
    const text = [...arrived, ...rest].join(', ');
    const fields = { sent: Object.fromEntries(sent), ...Object.fromEntries(others) };
    // The counts are of all sources, also at the end of a run.
    withoutLogFields(() => log.info(fields, `Sent to the platform: ${text}.`));
    sent.clear();
    others.clear();
  }

  function begin(): void {
    const started = new AbortController();
    timer = started;
    void clock.sleep(EVERY_MS, started.signal).then(() => {
      if (!started.signal.aborted) report();
    });
  }

  return {
    observe(event: ProgressEvent): void {
      if (event.type === 'run_ended') report();
      if (event.type !== 'settled' || isStillUnconfirmed(event)) return;
      const { operation, state } = event;
      if (state === 'delivered') sent.set(operation, (sent.get(operation) ?? 0) + 1);
      else if (isOther(state)) others.set(state, (others.get(state) ?? 0) + 1);
      else return;
      if (timer === null) begin();
    },
    /** Logs what was counted since the last line. */
    stop: report,
  };
}

function itemsWord(operation: Operation, count: number): string {
  const [kind] = operation.split('.') as ['product' | 'material' | 'bom_item' | 'passport'];
  return `${count} ${kindWord(kind)}${count === 1 ? '' : 's'}`;
}
