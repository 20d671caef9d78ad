import type { JsonValue } from '../lib/json.ts';
import type { Place } from './place.ts';

/** Why a record or an item cannot be used, so that the person who owns the data can correct it. */
export interface Issue {
  /** The rule that was broken, such as `country.unknown` or `row.columns`. Codes are stable, for filters and tests. */
  code: string;
  /** A full sentence that names what was found and what was expected. */
  message: string;
  /** The field of the item (`country_of_origin`) or the column of the source (`HERKL`). */
  field?: string;
  /** The value of the field or column. */
  value?: JsonValue;
  /** The mapping expression that failed. */
  expression?: string;
  /** What to do about the issue. */
  cure?: string;
  /** Another place that belongs to the issue, such as the first of two rows that make the same item. */
  other?: Place;
}
