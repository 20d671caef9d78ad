// Stages what people ask for: passports to be published or withdrawn.

import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import type { PassportAnswer, UnpublishedPage } from '../../domain/passport.ts';
import type { PassportReplay, ReplaySelection } from '../../domain/ports/replay.ts';
import { selectedByCause } from '../deliveries/cause-selections.ts';
import { isStuck } from '../deliveries/delivery-states.ts';
import { parametersOf, type SelectionParameters } from '../deliveries/selection.ts';
import { hastenDelivery, openDeliveryOf } from '../items/items.ts';
import { reconcile } from '../items/reconcile.ts';
import { statement } from '../store/statement.ts';
import type { Reads, Tx } from '../store/tx.ts';
import { blockersOf, commonBlockers, isComplete } from './completeness.ts';
import { desirePassport } from './passport-items.ts';
import { mayStep, PASSPORT_COLUMNS, type PassportRow, PRODUCTS_WITH_PASSPORTS } from './passport-row.ts';
import { desireIn, statusText } from './passport-text.ts';

const BLOCKERS_MAX = 10;

const SQL = {
  // Two statements, each with its own index: a single statement with OR would read all products.
  productByKey: statement<[string], PassportRow>(
    `SELECT ${PRODUCTS_WITH_PASSPORTS} WHERE p.kind = 'product' AND p.key = +?`,
  ),
  productByNaturalKey: statement<[string], PassportRow>(
    `SELECT ${PRODUCTS_WITH_PASSPORTS} WHERE p.kind = 'product' AND p.natural_key = +? LIMIT 1`,
  ),
  unpublished: statement<[{ afterKey: string; limit: number; published: string }], PassportRow>(
    `SELECT ${PRODUCTS_WITH_PASSPORTS} WHERE p.kind = 'product' AND p.key > @afterKey AND p.missing_since IS NULL
       AND p.record_id IS NOT NULL AND coalesce(q.baseline, '') <> @published ORDER BY p.key LIMIT @limit`,
  ),
  // Stuck deliveries are few, so the query begins with them. The `+` prevents SQLite from reading all passports
  // instead.
  stuck: statement<[SelectionParameters], PassportRow & { state: DeliveryState }>(
    `SELECT ${PASSPORT_COLUMNS}, q.state FROM items q CROSS JOIN items p ON p.kind = 'product' AND p.key = q.key
     WHERE ${isStuck('q')} AND +q.kind = 'passport'
       AND q.state IN (SELECT value FROM json_each(@states))
       AND (@keys = '[]' OR p.key IN (SELECT value FROM json_each(@keys))
            OR p.natural_key IN (SELECT value FROM json_each(@keys)))
       AND (@ids = '[]' OR q.id IN (SELECT value FROM json_each(@ids)))
       AND (@sources = '[]' OR q.source IN (SELECT value FROM json_each(@sources)))`,
  ),
};

export function askForPassports(
  tx: Tx,
  { products, status }: { products: readonly string[]; status: 'published' | 'unpublished' },
): PassportAnswer[] {
  return products.map((name) => askOne(tx, name, status));
}

export function unpublishedPassports(
  reads: Reads,
  { afterKey, limit }: { afterKey: string | null; limit: number },
): UnpublishedPage {
  const rows = SQL.unpublished(reads).all({ afterKey: afterKey ?? '', limit, published: statusText('published') });
  const page: UnpublishedPage = { complete: [], incomplete: [], withdrawn: 0, lastKey: null };
  const common = rows.length === 0 ? [] : commonBlockers(reads, BLOCKERS_MAX);
  for (const row of rows) {
    const { key, naturalKey } = row;
    const desire = desireIn(row.desired);
    const blockers = [...common, ...blockersOf(reads, row, BLOCKERS_MAX)].slice(0, BLOCKERS_MAX);
    if (desire?.because === 'person' && desire.status === 'unpublished') page.withdrawn += 1;
    else if (blockers.length > 0) page.incomplete.push({ key, naturalKey, blockers });
    else page.complete.push(key);
  }
  if (rows.length === limit) page.lastKey = rows.at(-1)?.key ?? null;
  return page;
}

export function replayPassports(
  tx: Tx,
  { selection, dryRun }: { selection: ReplaySelection; dryRun: boolean },
): PassportReplay {
  const replayed: PassportReplay = { asked: 0, incomplete: 0, leftUnconfirmed: 0 };
  const selected =
    selection.cause === undefined ? ({ type: 'deliveries', selection } as const) : selectedByCause(tx, selection.cause);
  if (selected?.type !== 'deliveries') return replayed;
  for (const row of SQL.stuck(tx).all(parametersOf(selected.selection))) {
    const desire = desireIn(row.desired);
    if (desire === null || row.passportId === null) continue;
    if (row.state === 'in_doubt') replayed.leftUnconfirmed += 1;
    else if (!mayStep(row, desire, () => isComplete(tx, row))) replayed.incomplete += 1;
    else {
      replayed.asked += 1;
      if (!dryRun) reconcile(tx, row.passportId, true);
    }
  }
  return replayed;
}

function askOne(tx: Tx, asked: string, status: 'published' | 'unpublished'): PassportAnswer {
  const row = SQL.productByKey(tx).get(asked) ?? SQL.productByNaturalKey(tx).get(asked);
  if (!row) return { asked, key: null, naturalKey: null, result: 'unknown', blockers: [] };
  const answer = { asked, key: row.key, naturalKey: row.naturalKey };
  if (status === 'published') {
    const blockers = [...commonBlockers(tx, BLOCKERS_MAX), ...blockersOf(tx, row, BLOCKERS_MAX)];
    if (blockers.length > 0) return { ...answer, result: 'incomplete', blockers: blockers.slice(0, BLOCKERS_MAX) };
  } else if (row.passportId === null) {
    // A passport that was never initialised is not public. A stored request would only prevent the policy from
    // publishing it later.
    return { ...answer, result: 'settled', blockers: [] };
  }
  const id = desirePassport(tx, row, { status, because: 'person' });
  const staged = reconcile(tx, id, true);
  hastenDelivery(tx, id);
  const open = openDeliveryOf(tx, id);
  const result = staged !== null ? 'staged' : open ? 'busy' : 'settled';
  return { ...answer, result, blockers: [] };
}
