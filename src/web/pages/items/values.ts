import type { Place } from '../../../domain/place.ts';
import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../../lib/json.ts';
import { type Html, html } from '../../html.ts';
import { formatCount } from '../../parts/count-link.ts';

/** How many characters of a value a page shows, because a value may have megabytes (I9). */
const CHARS_MAX = 2000;

/** The markup for a value of a record or a payload. */
export function valueOf(value: JsonValue | undefined): Html {
  if (value === undefined) return html`<span class="quiet">–</span>`;
  if (value === null) return html`<span class="quiet">empty</span>`;
  if (value === '') return html`<span class="quiet">empty text</span>`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= CHARS_MAX) return html`${text}`;
  return html`${text.slice(0, CHARS_MAX)}… <span class="quiet">(${formatCount(text.length)} characters)</span>`;
}

/** The name of a field or column, with possible line breaks after `_`. */
export function fieldName(name: string): Html {
  const [first = '', ...rest] = name.split('_');
  return html`${first}${rest.map((part) => html`_<wbr />${part}`)}`;
}

export type Difference = 'same' | 'changed' | 'added' | 'removed';

export interface ComparedField {
  field: string;
  mapped: JsonValue | undefined;
  acknowledged: JsonValue | undefined;
  difference: Difference;
}

/**
 * The fields of the mapped content beside the fields that the platform has acknowledged, in the order of the mapped
 * ones.
 */
export function compareFields(mapped: JsonObject, acknowledged: JsonObject | null): ComparedField[] {
  const names = [...new Set([...Object.keys(mapped), ...Object.keys(acknowledged ?? {})])];
  return names.map((field) => {
    const left = memberOf(mapped, field);
    const right = acknowledged === null ? undefined : memberOf(acknowledged, field);
    return { field, mapped: left, acknowledged: right, difference: differenceOf(left, right) };
  });
}

function differenceOf(mapped: JsonValue | undefined, acknowledged: JsonValue | undefined): Difference {
  if (acknowledged === undefined) return 'added';
  if (mapped === undefined) return 'removed';
  return canonical(mapped) === canonical(acknowledged) ? 'same' : 'changed';
}

/** A text that is equal for values that only differ in the order of their members. */
function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_, member: JsonValue) =>
    isJsonObject(member) ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
}

/** The text for a place: `products.csv, line 12, column HERKL`. */
export function placeText(place: Place, columns: readonly string[] = []): string {
  const parts = [
    place.file ?? null,
    place.line === undefined ? null : `line ${formatCount(place.line)}`,
    place.path ?? null,
    columns.length === 0 ? null : `${columns.length === 1 ? 'column' : 'columns'} ${columns.join(', ')}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? 'unknown place' : parts.join(', ');
}
