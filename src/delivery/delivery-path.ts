// The way of deliveries to the platform, many at a time:
//
//   admit n → claim n in one commit → send → classify → decide → settle in one commit
//
// Two loops share the way. `sendLoop` goes from the admission to the wire, and `settleLoop` from the answers to the ledger.
// The claim is committed before any byte is sent, and only once the requests may really be sent: a crash makes nothing
// unconfirmed that was merely waiting. From the claim on a request runs to its end, whatever is stopped meanwhile.

import { fault, isLedgerFault } from '../domain/faults.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { ClaimedRequest } from '../domain/ports/claim.ts';
import type { RequestSettlement, Settled } from '../domain/ports/decision.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { SentWrite, Target } from '../domain/ports/target.ts';
import { scopeOfWrite } from '../domain/scope.ts';
import type { Fault } from '../lib/errors.ts';
import type { Admission, Admitted } from './admission/admission.ts';
import type { ApiHealth } from './admission/api-health.ts';
import type { Slots } from './admission/slots.ts';
import { type Answered, createAnswers } from './answers.ts';
import type { Claims } from './claims.ts';
import type { DeadLetter } from './dead-letter.ts';
import { denialSubjectOf, isScopeDenied } from './denials.ts';
import type { Dispatcher } from './dispatcher.ts';
import { type SettlementOptions, settledEvents, settlementOf } from './settlement.ts';

export interface DeliveryPathOptions extends SettlementOptions {
  ledger: Pick<Ledger, 'settle' | 'putAside' | 'denialsOf'>;
  target: Pick<Target, 'send'>;
  health: ApiHealth;
  admission: Admission;
  claims: Claims;
  slots: Slots;
  dispatcher: Pick<Dispatcher, 'done'>;
  emit: Emit;
  deadLetter: DeadLetter;
}

export interface DeliveryPath {
  start(): void;
  /** Why outcomes cannot be stored, or requests cannot be sent, at the moment; null where both can. */
  trouble(): Fault | null;
  /** Sends nothing more, waits for what is under way, and settles it. */
  stop(): Promise<void>;
}

/** How soon decisions are offered to the ledger again. */
const SETTLE_AGAIN_MS = 1000;

export function createDeliveryPath(options: DeliveryPathOptions): DeliveryPath {
  const { ledger, target, health, admission, claims, slots, dispatcher, retries, clock, emit, deadLetter } = options;
  const abort = new AbortController();
  const answers = createAnswers({ underWay: () => slots.count(), clock });
  /** Requests that were claimed and have no answer yet. */
  let onTheWire = 0;
  let running: Promise<unknown> = Promise.resolve();
  let settleTrouble: Fault | null = null;
  /** Why this machine could not send the last request. */
  let localTrouble: Fault | null = null;

  async function sendLoop(): Promise<void> {
    while (!abort.signal.aborted) {
      const admitted = await admission.next(abort.signal);
      for (const { request, from } of await claims.claim(admitted, abort.signal)) void send(request, from);
    }
    closeIfDone();
  }

  async function settleLoop(): Promise<void> {
    for (;;) {
      const answered = await answers.next();
      if (answered.length === 0) return;
      for (const { slot } of answered) slot.free();
      const settling = settle(decideAll(answered));
      // What the free slots are for is claimed in the commit that settles these answers.
      admission.wake();
      await settling;
    }
  }

  /** Sends one claimed request; never rejects. */
  async function send(request: ClaimedRequest, from: Admitted): Promise<void> {
    onTheWire += 1;
    retries.sent(clock.ticks());
    try {
      const sent = await target.send(writeOf(request));
      const about = { request, scope: scopeOfWrite(request.operation), wasTried: from.wasTried };
      const { outcome, advisedRate } = sent;
      const denial = isScopeDenied(outcome)
        ? await denialSubjectOf(about, { ledger, authorization: health })
        : undefined;
      noteLocal(outcome);
      const answer = { outcome, scope: about.scope, subject: request.members[0]?.id ?? null, advisedRate };
      const latencyMs = clock.ticks() - from.slot.begunAt;
      health.observe(denial === undefined ? answer : { ...answer, denial }, latencyMs);
      from.endProbe();
      emit({ type: 'request', operation: request.operation, outcome: outcome.kind, retry: request.sends > 1 });
      const forbidden = denial === 'request';
      answers.add({ request, outcome, latencyMs: sent.latencyMs, slot: from.slot, forbidden });
    } catch (error) {
      claims.giveBack(from);
      await abandon(idsOf(request), error);
    } finally {
      onTheWire -= 1;
      closeIfDone();
    }
  }

  /** Once nothing more is sent, the last answers are settled and the loop of settling ends. */
  function closeIfDone(): void {
    if (abort.signal.aborted && onTheWire === 0) answers.close();
  }

  function noteLocal(outcome: Outcome): void {
    const isLocal = outcome.kind === 'unavailable' && outcome.local;
    localTrouble = isLocal ? fault('machine.limit', `Nothing can be sent: ${outcome.detail.message}`) : null;
  }

  type Decided = { answered: Answered; settlement: RequestSettlement };

  function decideAll(answered: readonly Answered[]): Decided[] {
    const decided: Decided[] = [];
    for (const one of answered) {
      try {
        decided.push({ answered: one, settlement: settlementOf(one, options) });
      } catch (error) {
        void abandon(idsOf(one.request), error);
      }
    }
    return decided;
  }

  /** Dead-letters deliveries that threw after they were sent. */
  async function abandon(ids: readonly number[], error: unknown): Promise<void> {
    await deadLetter(ids, error);
    dispatcher.done(ids);
  }

  /** Settles answers in one commit; never rejects. Where one of them throws, the others are settled without it. */
  async function settle(group: readonly Decided[]): Promise<void> {
    if (group.length === 0) return;
    const ids = group.flatMap(({ answered }) => idsOf(answered.request));
    try {
      const settled = await untilStored(group.map(({ settlement }) => settlement));
      report(group, settled);
      dispatcher.done(ids);
    } catch (error) {
      // Stopped while the ledger cannot be written: the next process finds these deliveries unconfirmed.
      if (isLedgerFault(error)) dispatcher.done(ids);
      else if (group.length === 1) await abandon(ids, error);
      else for (const one of group) await settle([one]);
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
        settleTrouble = null;
        return settled;
      } catch (error) {
        if (!isLedgerFault(error) || abort.signal.aborted) throw error;
        settleTrouble = error;
        await clock.sleep(SETTLE_AGAIN_MS, abort.signal);
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
    start() {
      running = Promise.all([sendLoop(), settleLoop()]);
    },
    trouble: () => settleTrouble ?? localTrouble,
    async stop() {
      abort.abort();
      admission.wake();
      await running;
    },
  };
}

function writeOf({ operation, path, body, idempotencyKey, members }: ClaimedRequest): SentWrite {
  const write = { operation, path, body, idempotencyKey };
  if (operation !== 'product.import') return write;
  return { ...write, members: members.map(({ naturalKey }) => naturalKey) };
}

function idsOf({ members }: ClaimedRequest): number[] {
  return members.map(({ id }) => id);
}
