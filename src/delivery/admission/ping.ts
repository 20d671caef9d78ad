import type { Emit } from '../../domain/ports/progress.ts';
import type { Target } from '../../domain/ports/target.ts';
import { type Signal, signalOf } from './signal.ts';
import type { TargetGate } from './target-gate.ts';

/**
 * Gives what asks the API whether it is there, without writing anything. A refusal of the key or the plan is heard; one of
 * the scope `read` is an answer as well, and no reason to stop reading what nobody has asked to read.
 */
export function createPing({ target, gate, emit }: { target: Pick<Target, 'ping'>; gate: TargetGate; emit: Emit }) {
  return async (abort: AbortSignal): Promise<Signal> => {
    const outcome = await target.ping(abort);
    if (outcome.kind === 'denied' && outcome.by === 'scope') gate.answered();
    else gate.observe(outcome, 'read');
    emit({ type: 'request', operation: 'ping', outcome: outcome.kind, retry: false });
    return signalOf(outcome, null);
  };
}
