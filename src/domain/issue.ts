import type { JsonValue } from '../lib/json.ts';
import type { Place } from './place.ts';

/** Why a record or an item cannot be used, so that the person who owns the data can correct it. */
export interface Issue {
  /** What rule was broken, as `country.unknown` or `row.columns`; stable, for filters and tests. */
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
  /** Another place that matters, such as the first of two rows that make the same item. */
  other?: Place;
}
