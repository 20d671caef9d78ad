import { fault } from '../../domain/faults.ts';
import type { ListPage } from '../../domain/ports/ledger/dashboard-views.ts';

const LIMIT_MAX = 500;

/** Where a list continues: in which of its phases, and after which row of the phase. */
export interface Place {
  phase: number;
  after: readonly (string | number)[] | null;
}

export function limitOf({ limit }: ListPage): number {
  return Math.max(1, Math.min(LIMIT_MAX, Math.floor(limit)));
}

export function placeText({ phase, after }: Place): string {
  return Buffer.from(JSON.stringify([phase, ...(after ?? [])])).toString('base64url');
}

/** @throws Fault `usage` for a place that did not come from a list */
export function placeOf({ after }: ListPage): Place {
  if (after === undefined) return { phase: 0, after: null };
  const parts = parsed(after);
  const [phase, ...rest] = Array.isArray(parts) ? (parts as unknown[]) : [];
  const isSound = (part: unknown) => typeof part === 'string' || typeof part === 'number';
  if (typeof phase !== 'number' || !Number.isInteger(phase) || phase < 0 || !rest.every(isSound)) {
    throw fault('usage', 'The list does not have the position at which this page begins.', {
      suggestion: 'Begin at the first page.',
    });
  }
  return { phase, after: rest.length === 0 ? null : (rest as (string | number)[]) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return null;
  }
}
