import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import type { PassportAnswer, UnpublishedPage } from '../../domain/passport.ts';
import type { PassportReplay, ReplaySelection } from '../../domain/ports/replay.ts';
import { createCauseSelections } from '../deliveries/cause-selections.ts';
import { isStuck } from '../deliveries/delivery-states.ts';
import { parametersOf, type SelectionParameters } from '../deliveries/selection.ts';
import type { Items } from '../items/items.ts';
import type { LedgerContext } from '../store/context.ts';
import { createCompleteness } from './completeness.ts';
import type { PassportItems } from './passport-items.ts';
import { mayStep, PASSPORT_COLUMNS, type PassportRow, PRODUCTS_WITH_PASSPORTS } from './passport-row.ts';
import { desireIn, statusText } from './passport-text.ts';

/** Stages what people ask for: passports to be published or withdrawn. Run each function as one transaction. */
export interface PassportsByHand {
  ask(request: { products: readonly string[]; status: 'published' | 'unpublished' }): PassportAnswer[];
  unpublished(request: { afterKey: string | null; limit: number }): UnpublishedPage;
  replay(request: { selection: ReplaySelection; dryRun: boolean }): PassportReplay;
}

const BLOCKERS_MAX = 10;

export function createPassportsByHand(
  { db, passportRules }: Pick<LedgerContext, 'db' | 'passportRules'>,
  { items, passportItems }: { items: Items; passportItems: PassportItems },
): PassportsByHand {
  const completeness = createCompleteness(db, passportRules);
  const selectedBy = createCauseSelections(db);
  const sql = {
    // Two statements, each with its own index: a single statement with OR would read all products.
    productByKey: db.prepare<[string], PassportRow>(
      `SELECT ${PRODUCTS_WITH_PASSPORTS} WHERE p.kind = 'product' AND p.key = +?`,
    ),
    productByNaturalKey: db.prepare<[string], PassportRow>(
      `SELECT ${PRODUCTS_WITH_PASSPORTS} WHERE p.kind = 'product' AND p.natural_key = +? LIMIT 1`,
    ),
    unpublished: db.prepare<[{ afterKey: string; limit: number; published: string }], PassportRow>(
      `SELECT ${PRODUCTS_WITH_PASSPORTS} WHERE p.kind = 'product' AND p.key > @afterKey AND p.missing_since IS NULL
         AND p.record_id IS NOT NULL AND coalesce(q.baseline, '') <> @published ORDER BY p.key LIMIT @limit`,
    ),
    // Stuck deliveries are few, so the query begins with them. The `+` prevents SQLite from reading all passports
    // instead.
    stuck: db.prepare<[SelectionParameters], PassportRow & { state: DeliveryState }>(
      `SELECT ${PASSPORT_COLUMNS}, q.state FROM items q CROSS JOIN items p ON p.kind = 'product' AND p.key = q.key
       WHERE ${isStuck('q')} AND +q.kind = 'passport'
         AND q.state IN (SELECT value FROM json_each(@states))
         AND (@keys = '[]' OR p.key IN (SELECT value FROM json_each(@keys))
              OR p.natural_key IN (SELECT value FROM json_each(@keys)))
         AND (@ids = '[]' OR q.id IN (SELECT value FROM json_each(@ids)))
         AND (@sources = '[]' OR q.source IN (SELECT value FROM json_each(@sources)))`,
    ),
  };

  function askOne(asked: string, status: 'published' | 'unpublished'): PassportAnswer {
    const row = sql.productByKey.get(asked) ?? sql.productByNaturalKey.get(asked);
    if (!row) return { asked, key: null, naturalKey: null, result: 'unknown', blockers: [] };
    const answer = { asked, key: row.key, naturalKey: row.naturalKey };
    if (status === 'published') {
      const blockers = [...completeness.commonBlockers(BLOCKERS_MAX), ...completeness.blockersOf(row, BLOCKERS_MAX)];
      if (blockers.length > 0) return { ...answer, result: 'incomplete', blockers: blockers.slice(0, BLOCKERS_MAX) };
    } else if (row.passportId === null) {
      // A passport that was never initialised is not public. A stored request would only prevent the policy from
      // publishing it later.
      return { ...answer, result: 'settled', blockers: [] };
    }
    const id = passportItems.desire(row, { status, because: 'person' });
    const staged = items.reconcile(id, true);
    items.hasten(id);
    const open = items.openDelivery(id);
    const result = staged !== null ? 'staged' : open ? 'busy' : 'settled';
    return { ...answer, result, blockers: [] };
  }

  return {
    ask: ({ products, status }) => products.map((name) => askOne(name, status)),

    unpublished({ afterKey, limit }) {
      const rows = sql.unpublished.all({ afterKey: afterKey ?? '', limit, published: statusText('published') });
      const page: UnpublishedPage = { complete: [], incomplete: [], withdrawn: 0, lastKey: null };
      const common = rows.length === 0 ? [] : completeness.commonBlockers(BLOCKERS_MAX);
      for (const row of rows) {
        const { key, naturalKey } = row;
        const desire = desireIn(row.desired);
        const blockers = [...common, ...completeness.blockersOf(row, BLOCKERS_MAX)].slice(0, BLOCKERS_MAX);
        if (desire?.because === 'person' && desire.status === 'unpublished') page.withdrawn += 1;
        else if (blockers.length > 0) page.incomplete.push({ key, naturalKey, blockers });
        else page.complete.push(key);
      }
      if (rows.length === limit) page.lastKey = rows.at(-1)?.key ?? null;
      return page;
    },

    replay({ selection, dryRun }) {
      const replayed: PassportReplay = { asked: 0, incomplete: 0, leftUnconfirmed: 0 };
      const selected =
        selection.cause === undefined ? ({ type: 'deliveries', selection } as const) : selectedBy(selection.cause);
      if (selected?.type !== 'deliveries') return replayed;
      for (const row of sql.stuck.all(parametersOf(selected.selection))) {
        const desire = desireIn(row.desired);
        if (desire === null || row.passportId === null) continue;
        if (row.state === 'in_doubt') replayed.leftUnconfirmed += 1;
        else if (!mayStep(row, desire, () => completeness.isComplete(row))) replayed.incomplete += 1;
        else {
          replayed.asked += 1;
          if (!dryRun) items.reconcile(row.passportId, true);
        }
      }
      return replayed;
    },
  };
}
