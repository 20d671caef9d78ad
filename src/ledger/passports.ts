import type { DeliveryState } from '../domain/delivery.ts';
import { type PassportAnswer, type PassportDesire, type PassportRules, wantedByPolicy } from '../domain/passport.ts';
import type { ReplaySelection } from '../domain/ports/ledger.ts';
import { createCompleteness, type JudgedProduct } from './completeness.ts';
import { type LedgerContext, parseJsonOrNull } from './context.ts';
import { desireText, type Items, type PassportOwner } from './items.ts';
import { parametersOf, type SelectionParameters } from './selection.ts';

/** From complete products to deliveries of their passports. Each function is the body of one transaction. */
export interface Passports {
  judge(request: { rules: PassportRules; afterKey: string | null; limit: number }): {
    staged: number;
    lastKey: string | null;
  };
  ask(request: {
    rules: PassportRules;
    products: readonly string[];
    status: 'published' | 'unpublished';
  }): PassportAnswer[];
  replay(request: { selection: ReplaySelection; rules: PassportRules; dryRun: boolean }): number;
}

interface CandidateRow extends JudgedProduct, PassportOwner {
  /** 1 where the source no longer has the product, or no record makes it any more. */
  gone: number;
  passportId: number | null;
  desired: string | null;
  stirred: number | null;
}

const HOLDS_MAX = 10;
const PUBLISHED = desireText({ status: 'published', because: 'policy' });
const COLUMNS = `p.id, p.key, p.natural_key AS naturalKey, p.source, p.appeared_at AS appearedAt,
  (p.missing_since IS NOT NULL OR p.record_id IS NULL) AS gone,
  q.id AS passportId, q.desired, q.stirred`;
const CANDIDATE = `${COLUMNS} FROM items p LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key`;

/** Deliveries that may still come to an end by themselves. */
const MOVING: readonly (DeliveryState | undefined)[] = ['waiting', 'due', 'sending', 'in_doubt'];

export function createPassports({ db }: LedgerContext, items: Items): Passports {
  const completeness = createCompleteness(db);
  const sql = {
    candidates: db.prepare<
      [{ afterKey: string; wanted: string | null; asWanted: string; published: string; limit: number }],
      CandidateRow
    >(
      `SELECT ${CANDIDATE} WHERE p.kind = 'product' AND p.key > @afterKey AND p.remote_id IS NOT NULL AND (
         (q.id IS NULL AND @wanted IS NOT NULL) OR q.stirred = 1
         OR (q.id IS NOT NULL AND p.missing_since IS NOT NULL)
         OR (q.desired <> @asWanted AND q.desired <> @published AND q.desired NOT LIKE '{"because":"person"%'))
       ORDER BY p.key LIMIT @limit`,
    ),
    product: db.prepare<[{ name: string }], CandidateRow>(
      `SELECT ${CANDIDATE} WHERE p.kind = 'product' AND (p.key = @name OR p.natural_key = @name)
       ORDER BY p.key = @name DESC LIMIT 1`,
    ),
    // What is stuck is little, so it comes first.
    stuck: db.prepare<[SelectionParameters], CandidateRow>(
      `SELECT ${COLUMNS} FROM deliveries d CROSS JOIN items q ON q.id = d.item_id AND q.kind = 'passport'
       CROSS JOIN items p ON p.kind = 'product' AND p.key = q.key
       WHERE d.state IN ('blocked', 'rejected', 'parked', 'in_doubt') AND d.state <> 'in_doubt'
         AND d.state IN (SELECT value FROM json_each(@states))
         AND (@keys = '[]' OR p.key IN (SELECT value FROM json_each(@keys))
              OR p.natural_key IN (SELECT value FROM json_each(@keys)))
         AND (@ids = '[]' OR d.id IN (SELECT value FROM json_each(@ids)))
         AND (@sources = '[]' OR q.source IN (SELECT value FROM json_each(@sources)))`,
    ),
    calm: db.prepare<[number]>('UPDATE items SET stirred = 0 WHERE id = ?'),
  };

  function isComplete(product: JudgedProduct, rules: PassportRules): boolean {
    return completeness.holds(product, rules, 1).length === 0;
  }

  /** What the policy makes of a passport, or null where it leaves it as it is. */
  function raised({ desired, gone, source }: CandidateRow, rules: PassportRules): PassportDesire | null {
    const wanted = wantedByPolicy(rules);
    const desire = parseJsonOrNull<PassportDesire>(desired);
    if (gone === 1) {
      const withdraw = desire?.status === 'published' && rules.withdrawMissingOf.includes(source);
      return withdraw ? { status: 'unpublished', because: 'missing' } : null;
    }
    if (wanted === null || desire?.because === 'person') return null;
    if (desire === null || desire.status !== 'published') {
      const same = desire?.status === wanted || (desire?.because === 'missing' && wanted !== 'published');
      return same ? null : { status: wanted, because: 'policy' };
    }
    return null;
  }

  function judge(row: CandidateRow, rules: PassportRules): boolean {
    const desire = raised(row, rules);
    const again = row.stirred === 1;
    if (desire === null && !again) return false;
    // A withdrawal does not wait for completeness: the product is gone.
    if (desire?.status !== 'unpublished' && !isComplete(row, rules)) return false;
    const id = desire === null ? row.passportId : items.desirePassport(row, desire);
    if (id === null) return false;
    const staged = items.reconcile(id, again);
    // What comes to an end now was asked of the API before something stirred: it may have to be asked again.
    if (again && (staged !== null || !MOVING.includes(items.openDelivery(id)?.state))) sql.calm.run(id);
    return staged !== null;
  }

  function askOne(asked: string, status: 'published' | 'unpublished', rules: PassportRules): PassportAnswer {
    const row = sql.product.get({ name: asked });
    if (!row) return { asked, key: null, naturalKey: null, result: 'unknown', holds: [] };
    const answer = { asked, key: row.key, naturalKey: row.naturalKey };
    if (status === 'published') {
      const holds = [...completeness.commonHolds(rules, HOLDS_MAX), ...completeness.holds(row, rules, HOLDS_MAX)].slice(
        0,
        HOLDS_MAX,
      );
      if (holds.length > 0) return { ...answer, result: 'held', holds };
    } else if (row.passportId === null) {
      // What was never initialised is not public; noting a wish would only keep the policy from it.
      return { ...answer, result: 'settled', holds: [] };
    }
    const id = items.desirePassport(row, { status, because: 'person' });
    const staged = items.reconcile(id, true);
    const open = items.openDelivery(id);
    const result = staged !== null ? 'staged' : open ? 'busy' : 'settled';
    return { ...answer, result, holds: [] };
  }

  return {
    judge({ rules, afterKey, limit }) {
      const held = completeness.commonHolds(rules, 1).length > 0;
      if (held && rules.withdrawMissingOf.length === 0) return { staged: 0, lastKey: null };
      const wanted = wantedByPolicy(rules);
      const asWanted = wanted === null ? '' : desireText({ status: wanted, because: 'policy' });
      const rows = sql.candidates.all({ afterKey: afterKey ?? '', wanted, asWanted, published: PUBLISHED, limit });
      let staged = 0;
      for (const row of rows) {
        if ((!held || row.gone === 1) && judge(row, rules)) staged += 1;
      }
      return { staged, lastKey: rows.length < limit ? null : (rows.at(-1)?.key ?? null) };
    },

    ask: ({ rules, products, status }) => products.map((name) => askOne(name, status, rules)),

    replay({ selection, rules, dryRun }) {
      if (completeness.commonHolds(rules, 1).length > 0) return 0;
      const complete = sql.stuck.all(parametersOf(selection)).filter((row) => isComplete(row, rules));
      if (dryRun) return complete.length;
      for (const { passportId } of complete) if (passportId !== null) items.reconcile(passportId, true);
      return complete.length;
    },
  };
}
