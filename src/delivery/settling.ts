import { isLedgerFault } from '../domain/faults.ts';
import type { ClaimedRequest } from '../domain/ports/claim.ts';
import type { RequestSettlement, Settled } from '../domain/ports/decision.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Fault } from '../lib/errors.ts';
import type { Answered } from './answers.ts';
import type { DeadLetter } from './dead-letter.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Echoes } from './echoes.ts';
import { type SettlementOptions, settledEvents, settlementOf } from './settlement.ts';

export interface SettlingOptions extends SettlementOptions {
  ledger: Pick<DeliveryLedger, 'settle'>;
  echoes: Echoes;
  dispatcher: Pick<Dispatcher, 'done'>;
  deadLetter: DeadLetter;
  emit: Emit;
  /** Aborted when the process ends. */
  abort: AbortSignal;
}

/** Decides the next states of answered deliveries, and stores the decisions. */
export interface Settling {
  /** Settles a group of answers in one commit. Never rejects. Dead letters may be stored later. */
  settle(answered: readonly Answered[]): Promise<void>;
  /** Dead-letters the deliveries of a claimed request that threw. Never rejects. */
  abandon(request: ClaimedRequest, error: unknown): Promise<void>;
  /** Resolves when all dead letters are stored, or when the process ends and they cannot be stored. */
  ended(): Promise<void>;
  /** Why decisions cannot be stored now; null if they can. */
  trouble(): Fault | null;
}

interface Decided {
  answered: Answered;
  settlement: RequestSettlement;
}

/** If the ledger could not store decisions, they are offered again after this time. */
const AGAIN_MS = 1000;

export function createSettling(options: SettlingOptions): Settling {
  const { ledger, dispatcher, deadLetter, clock, emit, abort } = options;
  let trouble: Fault | null = null;
  /** Requests whose deliveries cannot be dead-lettered now, with the reason. */
  const unstored = new Map<ClaimedRequest, Fault>();
  /** Dead letters that are being stored beside the settling of other answers. */
  const abandoning = new Set<Promise<void>>();

  function decideAll(answered: readonly Answered[]): Decided[] {
    const decided: Decided[] = [];
    for (const one of answered) {
      try {
        decided.push({ answered: one, settlement: settlementOf(one, options) });
      } catch (error) {
        void abandon(one.request, error);
      }
    }
    return decided;
  }

  function abandon(request: ClaimedRequest, error: unknown): Promise<void> {
    const stored = deadLetterUntilStored(request, error);
    abandoning.add(stored);
    return stored.finally(() => abandoning.delete(stored));
  }

  /**
   * Dead-letters the deliveries of a request, and tries again for as long as the ledger cannot be written: the ledger
   * shows these deliveries as being sent, and no other part of this process would change their state. If the process
   * ends before that, or if the ledger refuses the dead letters for another reason, the next process finds the
   * deliveries unconfirmed.
   */
  async function deadLetterUntilStored(request: ClaimedRequest, error: unknown): Promise<void> {
    let failure = await deadLetter(request.members, error);
    while (isLedgerFault(failure) && !abort.aborted) {
      unstored.set(request, failure);
      await clock.sleep(AGAIN_MS, abort);
      failure = await deadLetter(request.members, error, true);
    }
    unstored.delete(request);
    dispatcher.done(idsOf(request));
  }

  /** Settles answers in one commit. Never rejects. If one answer throws, the others are settled without it. */
  async function settleGroup(group: readonly Decided[]): Promise<void> {
    const [first] = group;
    if (first === undefined) return;
    const ids = group.flatMap(({ answered }) => idsOf(answered.request));
    try {
      const settled = await untilStored(group.map(({ settlement }) => settlement));
      report(group, settled);
      dispatcher.done(ids);
    } catch (error) {
      // The process stops while the ledger cannot be written. The next process finds these deliveries unconfirmed.
      if (isLedgerFault(error)) dispatcher.done(ids);
      else if (group.length === 1) void abandon(first.answered.request, error);
      else for (const one of group) await settleGroup([one]);
    }
  }

  /**
   * Offers decisions to the ledger until it stores them. Only this process knows the API's answers until then, so they
   * are kept while the disk is full. These deliveries become unconfirmed only if the process ends before they are
   * stored.
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
    async settle(answered) {
      await options.echoes.ready();
      await settleGroup(decideAll(answered));
    },
    abandon,
    ended: async () => void (await Promise.all(abandoning)),
    trouble: () => trouble ?? unstored.values().next().value ?? null,
  };
}

function idsOf({ members }: ClaimedRequest): number[] {
  return members.map(({ id }) => id);
}
