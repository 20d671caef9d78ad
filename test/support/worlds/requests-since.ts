import type { Sandbox } from '../../../src/sandbox/sandbox.ts';

/** Returns a function that counts the requests since its last call, by operation. */
export function requestsSince(sandbox: Sandbox): () => Record<string, number> {
  let counted: Record<string, number> = {};
  return () => {
    const totals: Record<string, number> = {};
    for (const [operation, statuses] of Object.entries(sandbox.inspect().requests)) {
      totals[operation] = Object.values(statuses).reduce((sum, count) => sum + count, 0);
    }
    const since: Record<string, number> = {};
    for (const [operation, total] of Object.entries(totals)) {
      const difference = total - (counted[operation] ?? 0);
      if (difference > 0) since[operation] = difference;
    }
    counted = totals;
    return since;
  };
}
