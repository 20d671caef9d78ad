import type { LedgerViews } from '../../../domain/ports/ledger/ledger-views.ts';
import { isOpen } from '../../deliveries/delivery-states.ts';
import { needsNothing } from '../../items/never-arrived.ts';
import type { Sqlite } from '../../store/database.ts';
import type { createRefSteps } from './ref-steps.ts';
import { about, type Step, step } from './step.ts';

/** At most this many undelivered BOM items of a product are shown. */
const PARTS_MAX = 5;

/** Finds the steps that show what the BOM items of a product wait for. */
export function createPartSteps(
  db: Sqlite,
  { item }: Pick<LedgerViews, 'item'>,
  refSteps: ReturnType<typeof createRefSteps>,
): (product: string, seen: Set<string>) => Step[] {
  const of = `refs f JOIN items i ON i.id = f.item_id LEFT JOIN records r ON r.id = i.record_id
    WHERE f.kind = 'product' AND f.key = ? AND f.role = 'product' AND i.kind = 'bom_item' AND NOT ${needsNothing('i')}`;
  // The same rule as for completeness: a BOM item that its source no longer has and that never reached the API does not count.
  const isIncomplete = `((${isOpen('i')} AND (i.missing_since IS NULL OR i.state IN ('due', 'sending', 'in_doubt') OR i.uncertain = 1))
    OR (r.state IN ('quarantined', 'pending', 'stale') AND r.missing_since IS NULL AND NOT (r.state = 'quarantined' AND r.partial = 1)))`;
  const sql = {
    counts: db.prepare<[string], { parts: number; incomplete: number | null }>(
      `SELECT count(*) AS parts, sum(${isIncomplete}) AS incomplete FROM ${of}`,
    ),
    incomplete: db.prepare<[string, number], { key: string; recordState: string | null }>(
      `SELECT i.key, r.state AS recordState FROM ${of} AND ${isIncomplete} ORDER BY i.id LIMIT ?`,
    ),
  };

  return (product, seen) => {
    const { parts = 0, incomplete } = sql.counts.get(product) ?? {};
    if (parts === 0) return [];
    const open = incomplete ?? 0;
    if (open === 0) {
      const all = parts === 1 ? 'its BOM item is' : `its ${parts} BOM items are`;
      return [step('ok', `${all} at the platform`)];
    }
    const shown = sql.incomplete.all(product, PARTS_MAX).flatMap(({ key, recordState }) => {
      const part = item('bom_item', key);
      if (part === null) return [];
      const steps = refSteps(part, `its BOM item ${key}`, seen);
      if (recordState === 'quarantined') {
        const clause = `its BOM item ${key} has a changed row in quarantine`;
        return [step('stop', clause, { ...about('bom_item', key), command: 'dpp-sync quarantine' }), ...steps];
      }
      if (recordState === 'pending' || recordState === 'stale') {
        return [
          step('waits', `its BOM item ${key} has a row that is not mapped yet`, about('bom_item', key)),
          ...steps,
        ];
      }
      return steps;
    });
    if (open <= PARTS_MAX) return shown;
    return [...shown, step('unknown', `${open - PARTS_MAX} more of its ${parts} BOM items are not delivered either`)];
  };
}
