import type { PassportStatus } from '../../domain/passport.ts';
import type { PassportState } from '../../domain/ports/ledger/ledger-views.ts';

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

export interface Standing {
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
  const isWanted = byPerson ? toPublish : wanted === 'published';
  if (delivery === 'none' && presence === 'present' && acknowledged !== 'published' && isWanted) return 'incomplete';
  if (byPerson && !toPublish && acknowledged !== 'published') return 'unpublished';
  return acknowledged ?? 'none';
}
