// The way of deliveries to the platform, many at a time:
//
//   admit n → claim n in one commit → send → classify → decide → settle in one commit
//
// Two loops share the way. `sendLoop` goes from the admission to the wire, and `settleLoop` from the answers to the ledger.
// The claim is committed before any byte is sent, and only once the requests may really be sent: a crash makes nothing
// unconfirmed that was merely waiting. From the claim on a request runs to its end, whatever is stopped meanwhile.

import { fault } from '../domain/faults.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { ClaimedRequest } from '../domain/ports/claim.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { SentWrite, Target } from '../domain/ports/target.ts';
import { scopeOfWrite } from '../domain/scope.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import type { Admission, Admitted } from './admission/admission.ts';
import type { ApiHealth } from './admission/api-health.ts';
import type { Slots } from './admission/slots.ts';
import { createAnswers } from './answers.ts';
import type { Claims } from './claims.ts';
import { denialSubjectOf, isScopeDenied } from './denials.ts';
import { createSettling, type SettlingOptions } from './settling.ts';

export interface DeliveryPathOptions extends Omit<SettlingOptions, 'abort'> {
  ledger: Pick<Ledger, 'settle' | 'denialsOf'>;
  target: Pick<Target, 'send'>;
  health: ApiHealth;
  admission: Admission;
  claims: Claims;
  slots: Slots;
}

/** How soon sending is tried again after a round that failed. */
const AGAIN_MS = 1000;

export interface DeliveryPath {
  start(): void;
  /** Why outcomes cannot be stored, or requests cannot be sent, at the moment; null where both can. */
  trouble(): Fault | null;
  /** Sends nothing more, waits for what is under way, and settles it. */
  stop(): Promise<void>;
}

export function createDeliveryPath(options: DeliveryPathOptions): DeliveryPath {
  const { ledger, target, health, admission, claims, slots, retries, clock, emit } = options;
  const abort = new AbortController();
  const answers = createAnswers({ underWay: () => slots.count(), clock });
  const settling = createSettling({ ...options, abort: abort.signal });
  /** Requests that were claimed and have no answer yet. */
  let onTheWire = 0;
  /** Nothing more is claimed. */
  let hasStopped = false;
  let running: Promise<unknown> = Promise.resolve();
  /** Why the last round of sending failed. */
  let loopTrouble: Fault | null = null;
  /** Why this machine could not send the last request. */
  let localTrouble: Fault | null = null;

  async function sendLoop(): Promise<void> {
    while (!abort.signal.aborted) {
      try {
        const admitted = await admission.next(abort.signal);
        for (const { request, from } of await claims.claim(admitted, abort.signal)) void send(request, from);
        loopTrouble = null;
      } catch (error) {
        // A defect in one round must not end the loop: whatever is due stays due.
        loopTrouble = error instanceof Fault ? error : fault('internal', `Nothing can be sent: ${messageOf(error)}`);
        await clock.sleep(AGAIN_MS, abort.signal);
      }
    }
    hasStopped = true;
    closeIfDone();
  }

  async function settleLoop(): Promise<void> {
    for (;;) {
      const answered = await answers.next();
      if (answered.length === 0) return;
      const settled = settling.settle(answered);
      // The slots of these answers are free: what follows is claimed in the commit that settles them.
      admission.wake();
      await settled;
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
      from.slot.free();
      health.observe(denial === undefined ? answer : { ...answer, denial }, latencyMs);
      from.endProbe();
      emit({ type: 'request', operation: request.operation, outcome: outcome.kind, retry: request.sends > 1 });
      const forbidden = denial === 'request';
      answers.add({ request, outcome, latencyMs: sent.latencyMs, forbidden });
    } catch (error) {
      claims.giveBack(from);
      admission.wake();
      await settling.abandon(request, error);
    } finally {
      onTheWire -= 1;
      closeIfDone();
    }
  }

  /** Once nothing more is sent, the last answers are settled and the loop of settling ends. */
  function closeIfDone(): void {
    if (hasStopped && onTheWire === 0) answers.close();
  }

  function noteLocal(outcome: Outcome): void {
    const isLocal = outcome.kind === 'unavailable' && outcome.local;
    localTrouble = isLocal ? fault('machine.limit', `Nothing can be sent: ${outcome.detail.message}`) : null;
  }

  return {
    start() {
      running = Promise.all([sendLoop(), settleLoop()]);
    },
    trouble: () => settling.trouble() ?? loopTrouble ?? localTrouble,
    async stop() {
      abort.abort();
      admission.wake();
      await running;
      await settling.ended();
    },
  };
}

function writeOf({ operation, path, body, idempotencyKey, members }: ClaimedRequest): SentWrite {
  const write = { operation, path, body, idempotencyKey };
  if (operation !== 'product.import') return write;
  return { ...write, members: members.map(({ naturalKey }) => naturalKey) };
}
