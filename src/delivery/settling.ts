import { isLedgerFault } from '../domain/faults.ts';
import type { ClaimedRequest } from '../domain/ports/claim.ts';
import type { RequestSettlement, Settled } from '../domain/ports/decision.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Fault } from '../lib/errors.ts';
import type { Answered } from './answers.ts';
import type { DeadLetter } from './dead-letter.ts';
import type { Dispatcher } from './dispatcher.ts';
import { type SettlementOptions, settledEvents, settlementOf } from './settlement.ts';

export interface SettlingOptions extends SettlementOptions {
  ledger: Pick<Ledger, 'settle'>;
  dispatcher: Pick<Dispatcher, 'done'>;
  deadLetter: DeadLetter;
  emit: Emit;
  /** The process ends. */
  abort: AbortSignal;
}

/** Decides on answers and stores the decisions. */
export interface Settling {
  /** Settles a group of answers in one commit; never rejects. */
  settle(answered: readonly Answered[]): Promise<void>;
  /** Dead-letters the deliveries of a request that threw after it was claimed. */
  abandon(request: ClaimedRequest, error: unknown): Promise<void>;
  /** Why decisions cannot be stored at the moment; null where they can. */
  trouble(): Fault | null;
}

interface Decided {
  answered: Answered;
  settlement: RequestSettlement;
}

/** How soon decisions are offered to the ledger again. */
const AGAIN_MS = 1000;

export function createSettling(options: SettlingOptions): Settling {
  const { ledger, dispatcher, deadLetter, clock, emit, abort } = options;
  let trouble: Fault | null = null;

  function decideAll(answered: readonly Answered[]): Decided[] {
    const decided: Decided[] = [];
    for (const one of answered) {
      try {
        decided.push({ answered: one, settlement: settlementOf(one, options) });
      } catch (error) {
        void abandon([one.request], error);
      }
    }
    return decided;
  }

  async function abandon(requests: readonly ClaimedRequest[], error: unknown): Promise<void> {
    const ids = requests.flatMap(idsOf);
    await deadLetter(ids, error);
    dispatcher.done(ids);
  }

  /** Settles answers in one commit; never rejects. Where one of them throws, the others are settled without it. */
  async function settleGroup(group: readonly Decided[]): Promise<void> {
    if (group.length === 0) return;
    const ids = group.flatMap(({ answered }) => idsOf(answered.request));
    try {
      const settled = await untilStored(group.map(({ settlement }) => settlement));
      report(group, settled);
      dispatcher.done(ids);
    } catch (error) {
      // Stopped while the ledger cannot be written: the next process finds these deliveries unconfirmed.
      if (isLedgerFault(error)) dispatcher.done(ids);
      else if (group.length === 1)
        await abandon(
          group.map(({ answered }) => answered.request),
          error,
        );
      else for (const one of group) await settleGroup([one]);
    }
  }

  /**
   * Keeps decisions until the ledger takes them. What the API has answered is known to this process alone until then, so it
   * is kept while the disk is full; only the end of the process makes these deliveries unconfirmed.
   */
  async function untilStored(settlements: readonly RequestSettlement[]): Promise<Settled[]> {
    for (;;) {
      try {
        const settled = await ledger.settle(settlements);
        trouble = null;
        return settled;
      } catch (error) {
        if (!isLedgerFault(error) || abort.aborted) throw error;
        trouble = error;
        await clock.sleep(AGAIN_MS, abort);
      }
    }
  }

  function report(group: readonly Decided[], settled: readonly Settled[]): void {
    let from = 0;
    for (const { answered, settlement } of group) {
      const to = from + settlement.settlements.length;
      for (const event of settledEvents(answered, settlement, settled.slice(from, to))) emit(event);
      from = to;
    }
  }

  return {
    settle: (answered) => settleGroup(decideAll(answered)),
    abandon: (request, error) => abandon([request], error),
    trouble: () => trouble,
  };
}

function idsOf({ members }: ClaimedRequest): number[] {
  return members.map(({ id }) => id);
}
