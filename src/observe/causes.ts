// Why a ledger needs a person after all automatic work has ended. Exit code 4 stands for one or more of these causes, and each
// names the command that shows it.

import type { ItemState, LedgerStanding } from '../domain/ports/ledger/ledger-views.ts';

/** The figures of a ledger that show whether it needs a person. */
export type Figured = Pick<
  LedgerStanding,
  'items' | 'passports' | 'quarantined' | 'guarded' | 'failedRuns' | 'suspended' | 'refused'
>;

type CauseName =
  | ItemState
  | 'passport_blocked'
  | 'passport_incomplete'
  | 'quarantined'
  | 'guarded'
  | 'failed_run'
  | 'suspended'
  | 'refused';

export interface Cause {
  /** The name of the cause. It is stable, for scripts. */
  cause: CauseName;
  count: number;
  /** The command that shows the cause, or ends it if there is nothing more to show. */
  command: string;
}

/** States of items that do not need a person. */
const WELL: readonly ItemState[] = ['delivered', 'superseded'];

export function causesOf(standing: Figured): Cause[] {
  const { items, passports, quarantined, guarded, failedRuns, suspended, refused } = standing;
  const byState = new Map<ItemState, number>();
  for (const counts of Object.values(items)) {
    for (const [state, count] of Object.entries(counts) as [ItemState, number][]) {
      if (!WELL.includes(state)) byState.set(state, (byState.get(state) ?? 0) + count);
    }
  }
  const { blocked = 0, incomplete = 0 } = passports;
  // A list that is being read does not need a person.
  const unlisted = suspended.reduce((sum, { creates, reason }) => sum + (reason === null ? 0 : creates), 0);
  const causes: Cause[] = [
    ...failedRuns.map(({ source }) => ({ cause: 'failed_run' as const, count: 1, command: `dpp-sync sync ${source}` })),
    ...Array.from(
      Map.groupBy(guarded, ({ source }) => source),
      ([, reads]) => ({
        cause: 'guarded' as const,
        count: reads.length,
        command: 'dpp-sync status',
      }),
    ),
    { cause: 'suspended', count: unlisted, command: 'dpp-sync status' },
    { cause: 'refused', count: refused.reduce((sum, { count }) => sum + count, 0), command: 'dpp-sync check' },
    ...Array.from(byState, ([cause, count]) => ({ cause, count, command: `dpp-sync items --state ${cause}` })),
    { cause: 'passport_blocked', count: blocked, command: 'dpp-sync items --kind passport' },
    { cause: 'passport_incomplete', count: incomplete, command: 'dpp-sync items --state incomplete' },
    { cause: 'quarantined', count: quarantined, command: 'dpp-sync quarantine' },
  ];
  return causes.filter(({ count }) => count > 0);
}

/** Returns 0 for success, 4 if something needs a person or still waits, and otherwise the exit code of the fault. */
export function exitCodeOf(report: Figured & { fault: { exitCode: number } | null; left?: number }): number {
  if (report.fault) return report.fault.exitCode;
  return causesOf(report).length > 0 || (report.left ?? 0) > 0 ? 4 : 0;
}
