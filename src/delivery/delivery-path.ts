// The way of a delivery, from due to settled. `delivery-window.ts` has the stages.
//
//   takeUp      due → enqueued: as a job of the queue `deliver`. Due → received, without a job, if a person waits for it.
//   receive     enqueued → received: the job has come.
//   sendLoop    received → admitted → in flight: admits n deliveries, claims them in one commit, and sends each request.
//   settleLoop  in flight → no longer in the window: decides about the answers, and settles them in one commit.
//
// A claim is committed before its first byte is sent (I2), and only when the request may be sent at once: a crash leaves
// no waiting delivery unconfirmed. A claimed request runs to its end, even when the process is stopping.
import type { Outcome } from '../domain/delivery/outcome.ts';
import { fault, isLedgerFault } from '../domain/faults.ts';
import type { ClaimedRequest, NewClaim } from '../domain/ports/deliveries.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { JobResult, ReceivedJob } from '../domain/ports/queues.ts';
import type { SentWrite, Target } from '../domain/ports/target.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import type { Admission, Admitted } from './admission/admission.ts';
import type { ApiHealth } from './admission/api-health.ts';
import { denialSubjectOf, isScopeDenied } from './admission/authorization.ts';
import type { DeliveryWindow, Wakes } from './delivery-window.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { DeadLetter } from './failed-jobs.ts';
import type { BulkImports } from './imports/bulk-imports.ts';
import { createAnswers, createSettling, type SettlingOptions } from './settling.ts';

interface DeliveryPathOptions extends Omit<SettlingOptions, 'abort'> {
  target: Target;
  dispatcher: Dispatcher;
  admission: Admission;
  claims: Claims;
  wakes: Wakes;
}

/** After a round that failed, or a claim that the ledger could not store, the next attempt comes after this time. */
const AGAIN_MS = 1000;

export function createDeliveryPath(options: DeliveryPathOptions) {
  const { ledger, target, health, dispatcher, admission, claims, bulk, retries, wakes, clock, emit } = options;
  const abort = new AbortController();
  /** The claimed requests that have no answer yet. */
  const sending = new Set<Promise<void>>();
  const answers = createAnswers({ underWay: () => sending.size, clock });
  const settling = createSettling({ ...options, abort: abort.signal });
  let running: Promise<unknown> = Promise.resolve();
  /** Why the last round of `sendLoop` failed. */
  let loopTrouble: Fault | null = null;
  /** Why this machine could not send the last request. */
  let localTrouble: Fault | null = null;

  /** Takes due deliveries into the window. */
  async function takeUp(): Promise<void> {
    await dispatcher.fillAtOnce();
    await dispatcher.fill();
  }

  /** Receives the deliveries of a job. */
  function receive(job: ReceivedJob): Promise<JobResult> {
    return dispatcher.receive(job, abort.signal);
  }

  async function sendLoop(): Promise<void> {
    while (!abort.signal.aborted) {
      try {
        const admitted = await admission.next(abort.signal);
        for (const { request, from } of await claims.claim(admitted, abort.signal)) {
          const sent = send(request, from);
          sending.add(sent);
          void sent.then(() => sending.delete(sent));
        }
        loopTrouble = null;
      } catch (error) {
        // A defect in one round must not end the loop. All deliveries stay due.
        loopTrouble = error instanceof Fault ? error : fault('internal', `Nothing can be sent: ${messageOf(error)}`);
        await clock.sleep(AGAIN_MS, abort.signal);
      }
    }
    await Promise.all(sending);
    answers.close();
  }

  /** Settles what was answered. Ends with the last answers, when nothing more is sent. */
  async function settleLoop(): Promise<void> {
    for (;;) {
      const answered = await answers.next();
      if (answered.length === 0) return;
      const settled = settling.settle(answered);
      // A slot is freed only when its answer is on the way to the ledger. The next claims are then committed together with that
      // answer, or after it. So the ledger never shows more deliveries as being sent than there are slots, whenever the process dies.
      for (const { from } of answered) admission.freeSlot(from);
      wakes.admission.wake();
      await settled;
    }
  }

  /** Sends one claimed request, and hands its answer to `settleLoop`. Never rejects. */
  async function send(request: ClaimedRequest, from: Admitted): Promise<void> {
    retries.sent(clock.ticks());
    const sentAt = clock.now();
    try {
      const sent = await target.send(writeOf(request));
      const about = { request, wasTried: from.wasTried };
      const { outcome, advisedRate } = sent;
      const denial = isScopeDenied(outcome)
        ? await denialSubjectOf(about, { ledger, authorization: health })
        : undefined;
      noteLocal(outcome);
      const [first] = request.members;
      const memberAccess = first?.operation;
      const answer = { outcome, access: request.operation, memberAccess, subject: first?.id ?? null, advisedRate };
      const latencyMs = clock.ticks() - from.begunAt;
      health.observe(denial === undefined ? answer : { ...answer, denial }, latencyMs);
      admission.end(from);
      bulk.answered(request, outcome);
      const { operation } = request;
      emit({
        type: 'request',
        operation,
        outcome: outcome.kind,
        retry: request.sends > 1,
        latencyMs: sent.latencyMs,
      });
      const forbidden = denial === 'request';
      const times = { sentAt, answeredAt: clock.now() };
      answers.add({ request, outcome, latencyMs: sent.latencyMs, times, forbidden, from });
    } catch (error) {
      const abandoned = settling.abandon(request, error);
      // As after an answer, the slot is freed when the outcome is on its way to the ledger.
      claims.giveBack(from);
      wakes.admission.wake();
      await abandoned;
    }
  }

  function noteLocal(outcome: Outcome): void {
    const isLocal = outcome.kind === 'unavailable' && outcome.local;
    localTrouble = isLocal ? fault('machine.limit', `Nothing can be sent: ${outcome.detail.message}`) : null;
  }

  return {
    takeUp,
    receive,
    start() {
      running = Promise.all([sendLoop(), settleLoop()]);
    },
    /** Why requests cannot be sent or outcomes cannot be stored now; null if both work. */
    trouble: (): Fault | null => settling.trouble() ?? loopTrouble ?? localTrouble,
    /** Sends nothing more, waits for the requests in flight, and settles them. */
    async stop() {
      abort.abort();
      wakes.admission.wake();
      await running;
      await settling.ended();
    },
  };
}

export type DeliveryPath = ReturnType<typeof createDeliveryPath>;

function writeOf({ operation, path, body, idempotencyKey, members }: ClaimedRequest): SentWrite {
  const write = { operation, path, body, idempotencyKey };
  if (operation !== 'product.import') return write;
  const areNew = members[0]?.operation === 'product.create';
  return { ...write, members: members.map(({ naturalKey }) => naturalKey), areNew };
}

/** A claimed request, and the admission that it belongs to. */
interface Claimed {
  request: ClaimedRequest;
  from: Admitted;
}

interface ClaimsOptions {
  ledger: DeliveryLedger;
  admission: Pick<Admission, 'end' | 'freeSlot'>;
  health: ApiHealth;
  window: DeliveryWindow;
  bulk: BulkImports;
  deadLetter: DeadLetter;
  clock: Clock;
}

/** Claims the admitted deliveries, and gives back those that cannot be claimed. */
export function createClaims(options: ClaimsOptions) {
  const { ledger, admission, health, window, bulk, deadLetter, clock } = options;
  let trouble: Error | null = null;

  /** Gives back all that an admitted request holds, because it is not sent. */
  function giveBack(admitted: Admitted): void {
    admission.freeSlot(admitted);
    admission.end(admitted);
    bulk.giveBack(admitted.deliveries);
    health.unused(clock.ticks() - admitted.begunAt);
  }

  /**
   * Brings each admitted delivery into its next stage. A bulk import may take fewer deliveries than were admitted; the
   * others are admitted again.
   */
  function sort(admitted: readonly Admitted[], requests: readonly NewClaim[]): Claimed[] {
    const taken = new Set(requests.flatMap(({ members }) => members.map(({ id }) => id)));
    const claimed: Claimed[] = [];
    for (const [list, from] of admitted.entries()) {
      const request = requests.find((one) => one.list === list);
      const others = from.deliveries.filter(({ id }) => !taken.has(id));
      if (request === undefined) {
        giveBack(from);
        window.end(others.map(({ id }) => id));
        continue;
      }
      window.putBack(others);
      window.claim(request.members);
      claimed.push({ request, from });
    }
    return claimed;
  }

  /**
   * Claims each request separately, because claiming them together has thrown. A request that throws alone is
   * dead-lettered.
   */
  async function claimApart(admitted: readonly Admitted[], error: unknown, abort: AbortSignal): Promise<Claimed[]> {
    const [only] = admitted;
    if (admitted.length > 1 || only === undefined) {
      const claimed: Claimed[] = [];
      for (const one of admitted) claimed.push(...(await claim([one], abort)));
      return claimed;
    }
    giveBack(only);
    // It is unknown which member of an import is at fault, so the ledger tries each member alone.
    const unstored = await deadLetter(only.deliveries, error);
    if (unstored !== null) await waitForLedger(unstored, abort);
    window.end(only.deliveries.map(({ id }) => id));
    return [];
  }

  /**
   * Gives everything back, because the ledger cannot be written, and waits. Without the wait the same claim would be
   * tried in a loop.
   */
  async function waitForLedger(error: Error, abort: AbortSignal): Promise<void> {
    trouble = error;
    await clock.sleep(AGAIN_MS, abort);
  }

  /** Claims all these deliveries in one commit, and returns the requests to send now. Never rejects. */
  async function claim(admitted: readonly Admitted[], abort: AbortSignal): Promise<Claimed[]> {
    if (admitted.length === 0) return [];
    let requests: NewClaim[];
    try {
      requests = await ledger.claim(
        admitted.map(({ deliveries, asImport }) => ({
          deliveries: deliveries.map(({ id, revision }) => ({ id, revision })),
          asImport,
        })),
      );
    } catch (error) {
      if (!isLedgerFault(error)) return claimApart(admitted, error, abort);
      for (const one of admitted) giveBack(one);
      window.putBack(admitted.flatMap(({ deliveries }) => deliveries));
      await waitForLedger(error, abort);
      return [];
    }
    trouble = null;
    return sort(admitted, requests);
  }

  return {
    claim,
    giveBack,
    /** Why the last claim failed; null if it did not. */
    trouble: (): Error | null => trouble,
  };
}

export type Claims = ReturnType<typeof createClaims>;
