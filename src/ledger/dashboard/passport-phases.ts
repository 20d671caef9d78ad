// The indexes by which passports are listed. All phases give ids of products.

import type { PassportStatus } from '../../domain/passport.ts';
import type { PassportState } from '../../domain/ports/ledger/ledger-views.ts';
import type { Sqlite } from '../store/database.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Found, Phase } from './id-list.ts';
import { type Presence, passportState, STANDING, STANDINGS, standingOf } from './standing.ts';

/** SQL condition: true if its source has the product `p` and a record makes it. */
export const IS_PRESENT = '(p.missing_since IS NULL AND p.record_id IS NOT NULL)';

const PRESENCES: readonly Presence[] = ['present', 'gone'];
const BATCH = 500;

/** The phases of all products whose passports are in a state. `wanted` is what the policy wants. */
export type PassportPhases = (state: PassportState, wanted: PassportStatus | null) => Phase[];

export function createPassportPhases(db: Sqlite, catalog: Catalog): PassportPhases {
  const sql = {
    inStanding: db
      .prepare<
        [{ standing: number; present: 0 | 1 | null; source: string; id: number; limit: number }],
        [string, number, number]
      >(
        `SELECT q.source, q.id, p.id FROM items q INDEXED BY passports_by_standing
         CROSS JOIN items p ON p.kind = 'product' AND p.key = q.key
         WHERE q.kind = 'passport' AND ${STANDING} = @standing AND (q.source, q.id) > (@source, @id)
           AND (@present IS NULL OR ${IS_PRESENT} = @present)
         ORDER BY q.source, q.id LIMIT @limit`,
      )
      .raw(),
    inPresence: db
      .prepare<[string, 0 | 1], number>(
        `SELECT p.id FROM json_each(?) e CROSS JOIN items p ON p.id = e.value WHERE ${IS_PRESENT} = ?`,
      )
      .pluck(),
  };

  function ofStanding(standing: number, present: 0 | 1 | null): Phase {
    return {
      read(after, limit) {
        const [source = '', id = 0] = after ?? [];
        const query = { standing, present, source: String(source), id: Number(id), limit };
        return sql.inStanding.all(query).map(([of, passport, product]) => ({ id: product, after: [of, passport] }));
      },
    };
  }

  /** Products without a passport. */
  function withoutPassport(present: 0 | 1): Phase {
    return {
      read(after, limit) {
        const found: Found[] = [];
        let batch: number[] = [];
        const take = () => {
          const fitting = new Set(sql.inPresence.all(JSON.stringify(batch), present));
          for (const id of batch) if (fitting.has(id)) found.push({ id, after: [id] });
          batch = [];
        };
        for (const id of catalog.ids(Number(after?.[0] ?? 0), { kind: 'product', withoutPassport: true })) {
          batch.push(id);
          if (batch.length === BATCH) take();
          if (found.length >= limit) break;
        }
        take();
        return found.slice(0, limit);
      },
    };
  }

  return (state, wanted) => {
    const fits = (standing: number | null, presence: Presence) =>
      passportState(standing === null ? null : standingOf(standing), presence, wanted) === state;
    const passports = STANDINGS.flatMap((standing) => {
      const fitting = PRESENCES.filter((presence) => fits(standing, presence));
      if (fitting.length === 0) return [];
      return [ofStanding(standing, fitting.length === 2 ? null : fitting[0] === 'present' ? 1 : 0)];
    });
    const products = PRESENCES.filter((presence) => fits(null, presence)).map((presence) =>
      withoutPassport(presence === 'present' ? 1 : 0),
    );
    return [...passports, ...products];
  };
}
