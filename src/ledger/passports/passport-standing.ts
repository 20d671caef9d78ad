// Where a passport stands, as one number that an index has, so that a million passports are counted in that index.

import type { PassportState, PassportStatus } from '../../domain/passport.ts';
import { type Reads, statement } from '../store/tx.ts';

/**
 * SQL expression for a passport in the items table `q`: its state as one number. It repeats the words of the index
 * `passports_by_standing`, because SQLite uses the index only for the same words. The hundreds stand for the
 * acknowledged status, 50 for a person's request, and 20 for a passport that is to be published. The last digit is 1 if
 * the delivery continues without a person, and 2 if it needs a person.
 */
export const STANDING = `CASE q.baseline WHEN '{"status":"published"}' THEN 300 WHEN '{"status":"initialized"}' THEN 200
    WHEN '{"status":"unpublished"}' THEN 100 ELSE 0 END
  + iif(q.desired LIKE '{"because":"person"%', 50, 0) + iif(q.desired LIKE '%"status":"published"}', 20, 0)
  + CASE WHEN q.state IN ('blocked', 'rejected') OR q.state = 'parked' OR (q.state = 'in_doubt' AND q.due_at = 0) THEN 2
    WHEN q.state IN ('waiting', 'due') OR q.state IN ('sending', 'in_doubt') THEN 1 ELSE 0 END`;

const ACKNOWLEDGED: readonly (PassportStatus | null)[] = [null, 'unpublished', 'initialized', 'published'];
const BY_PERSON = 50;
const TO_PUBLISH = 20;

interface Standing {
  acknowledged: PassportStatus | null;
  byPerson: boolean;
  toPublish: boolean;
  delivery: 'none' | 'moves' | 'stuck';
}

export function standingOf(number: number): Standing {
  const rest = number % 100;
  const byPerson = rest >= BY_PERSON;
  const below = byPerson ? rest - BY_PERSON : rest;
  return {
    acknowledged: ACKNOWLEDGED[Math.floor(number / 100)] ?? null,
    byPerson,
    toPublish: below >= TO_PUBLISH,
    delivery: below % 10 === 2 ? 'stuck' : below % 10 === 1 ? 'moves' : 'none',
  };
}

/** All numbers that may be stored. */
export const STANDINGS: readonly number[] = [0, 100, 200, 300].flatMap((acknowledged) =>
  [0, BY_PERSON].flatMap((person) =>
    [0, TO_PUBLISH].flatMap((publish) => [0, 1, 2].map((delivery) => acknowledged + person + publish + delivery)),
  ),
);

/** `present` if the source of the passport's product still has the product and a record makes it. */
export type Presence = 'present' | 'gone';

/** True if a person or the policy wants the passport to be published. */
function isToBePublished({ byPerson, toPublish }: Standing, wanted: PassportStatus | null): boolean {
  return byPerson ? toPublish : wanted === 'published';
}

/** True if a publication follows the present delivery without a person: the initialisation is under way. */
export function isFollowed(standing: Standing | null, wanted: PassportStatus | null): boolean {
  if (standing === null || standing.acknowledged !== null || standing.delivery !== 'moves') return false;
  return isToBePublished(standing, wanted);
}

/**
 * The state of a passport, with the rules of `src/ledger/views/passport-views.ts`.
 *
 * @param standing null for a product without a passport
 * @param wanted what the policy wants
 */
export function passportState(
  standing: Standing | null,
  presence: Presence,
  wanted: PassportStatus | null,
): PassportState {
  if (standing === null) return wanted !== null && presence === 'present' ? 'incomplete' : 'none';
  const { acknowledged, byPerson, toPublish, delivery } = standing;
  if (delivery === 'stuck') return 'blocked';
  // What the policy wants is missing also where the initialisation was replaced before it was sent.
  const isWanted = isToBePublished(standing, wanted) || (!byPerson && acknowledged === null && wanted !== null);
  if (delivery === 'none' && presence === 'present' && acknowledged !== 'published' && isWanted) return 'incomplete';
  if (byPerson && !toPublish && acknowledged !== 'published') return 'unpublished';
  return acknowledged ?? 'none';
}

const OF_SOURCE = (of: string) => `(@source IS NULL OR ${of}.source = @source)`;
const COUNTS = {
  passports: statement<[{ source: string | null }], StandingCount>(
    `SELECT ${STANDING} AS standing, count(*) AS n FROM items q INDEXED BY passports_by_standing
     WHERE q.kind = 'passport' AND ${OF_SOURCE('q')} GROUP BY 1`,
  ),
  // These products are missing or released. They are few, so they are counted without the index.
  gone: statement<[{ source: string | null }], StandingCount>(
    `SELECT iif(q.id IS NULL, NULL, ${STANDING}) AS standing, count(*) AS n FROM (
       SELECT p.key, p.source FROM items p INDEXED BY items_missing
       WHERE p.kind = 'product' AND p.missing_since IS NOT NULL
       UNION ALL SELECT p.key, p.source FROM released l CROSS JOIN items p ON p.id = l.item_id
       WHERE p.kind = 'product' AND p.missing_since IS NULL AND p.record_id IS NULL) gone
     LEFT JOIN items q ON q.kind = 'passport' AND q.key = gone.key WHERE ${OF_SOURCE('gone')} GROUP BY 1`,
  ),
};

interface StandingCount {
  standing: number | null;
  n: number;
}

/**
 * How many passports have each standing. The counts of one standing and presence may be several, and negative: their sum counts.
 *
 * @param without how many products have no passport
 */
export function countByStanding(
  reads: Pick<Reads, 'db'>,
  without: number,
  source?: string,
): { standing: Standing | null; presence: Presence; count: number }[] {
  const query = { source: source ?? null };
  const gone = COUNTS.gone(reads).all(query);
  const counted: [Presence, StandingCount[]][] = [
    ['present', [...COUNTS.passports(reads).all(query), { standing: null, n: without }]],
    ['present', gone.map(({ standing, n }) => ({ standing, n: -n }))],
    ['gone', gone],
  ];
  return counted.flatMap(([presence, rows]) =>
    rows.map(({ standing, n }) => {
      return { standing: standing === null ? null : standingOf(standing), presence, count: n };
    }),
  );
}
