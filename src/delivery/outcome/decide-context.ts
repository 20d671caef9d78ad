import type { Operation } from '../../domain/delivery/operation.ts';
import type { OutcomeDetail } from '../../domain/delivery/outcome.ts';
import type { Reason, ReasonCode } from '../../domain/delivery/reason.ts';
import type { Attempted } from './waits.ts';

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
