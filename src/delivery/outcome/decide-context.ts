import type { Operation } from '../../domain/delivery/operation.ts';
import type { OutcomeDetail, UnconfirmedCause } from '../../domain/delivery/outcome.ts';
import type { Reason, ReasonCode } from '../../domain/delivery/stored-reason.ts';
import type { Profile } from '../../domain/profile.ts';
import { fullJitterMs } from '../../lib/clock.ts';

/** What every decision about a delivery needs to know. */
export interface DecideContext extends Attempted {
  operation: Operation;
  now: number;
}

/** Whether the list that shows an operation's effect can be read. With `assumed_empty` the config says not to read it. */
export type Readable = 'yes' | 'no' | 'assumed_empty';

/** What an answer that proves too little is weighed by. */
export interface ProofContext {
  /** Whether this platform has repeated earlier requests of the operation. */
  echoedBefore: boolean;
  readable: Readable;
}

/** The proof context of a member of an import. Its answer is weighed row by row. */
export const WEIGHED_BY_ROW: ProofContext = { echoedBefore: false, readable: 'yes' };

/** A delivery after an attempt. */
export interface AttemptContext extends DecideContext, ProofContext {
  /** Whether an earlier attempt may have taken effect. */
  uncertain: boolean;
  /** Since when the API has answered that it is working on the delivery; null if its last answer was another one. */
  busySince: number | null;
  /**
   * Since when the API has not been able to accept the delivery; null if its last answer was another one. An answer that
   * asks to wait does not change this time.
   */
  awaySince: number | null;
  /** True if the API works and has accepted other deliveries since `awaySince`. */
  takesOthers: boolean;
  /** Whether the API refuses this delivery a scope that it grants to other deliveries. */
  forbidden: boolean;
}

/** An answer, as the reason for the state of a delivery. */
export function reasonOf(code: ReasonCode, detail: OutcomeDetail): Reason {
  return {
    code,
    message: detail.message,
    ...(detail.status === null ? {} : { status: detail.status }),
    ...(detail.fields ? { fields: detail.fields } : {}),
  };
}

/** How long a write that a list has to show waits for the other writes of the run before the list is read. */
export const REST_MAX_MS = 900_000;

/** What the waits of a delivery depend on. */
interface Attempted {
  /** The attempts that were used before this one. */
  attempts: number;
  profile: Profile;
  /** In [0, 1), for the jitter. */
  random: number;
}

/** The wait before the next attempt. */
export function backoffMs({ attempts, profile, random }: Attempted): number {
  const { baseMs, capMs } = profile.retry.backoff;
  return fullJitterMs(attempts + 1, { baseMs, capMs }, random);
}

/** How long after a request was lost it may still take effect at the API. */
export function settlingDelayMs(cause: UnconfirmedCause, profile: Profile): number {
  return cause === 'timeout' ? profile.settlingDelayMs.timeout : profile.settlingDelayMs.reset;
}

/** The wait after a lost answer before a listing can prove that the write is absent. */
export function readBackDelayMs(cause: UnconfirmedCause, attempted: Attempted): number {
  return settlingDelayMs(cause, attempted.profile) + Math.max(backoffMs(attempted), 1);
}

/**
 * The wait after a lost answer before the write is sent again. I3: if keys are not honoured, the write that follows may be sent
 * as soon as the repetition is answered. The lost request must not be able to land after that. Where keys are honoured, the same
 * holds for the last attempt: no repetition follows it, and a list that is read earlier would not prove that it is lost.
 */
export function resendDelayMs(cause: UnconfirmedCause, attempted: Attempted): number {
  const { profile, attempts } = attempted;
  const isRepeated = profile.idempotency === 'honoured' && attempts + 1 < profile.retry.attemptsMax;
  const settlingMs = isRepeated ? 0 : settlingDelayMs(cause, profile);
  return Math.max(backoffMs(attempted), settlingMs, 1);
}
