import { columnsAtFault, type Issue, type Place } from '../../../domain/issue.ts';
import type { ItemDetail } from '../../../domain/ports/ledger/dashboard-views.ts';
import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../../lib/json.ts';
import { type Html, html } from '../../html.ts';
import { formatCount } from '../../shown-values.ts';

const MARKS: Record<Difference, Html | null> = {
  same: null,
  changed: html`<span class="badge warn">differs</span>`,
  added: html`<span class="badge warn">not at the platform</span>`,
  removed: html`<span class="badge warn">no longer mapped</span>`,
};

/** The source's row, the mapped content and the content that the platform has acknowledged, with differences marked. */
export function comparison(item: ItemDetail): Html {
  return html`<div class="sides">${sourceSide(item)}${mappedSide(item)}</div>`;
}

function sourceSide({ record, missing }: ItemDetail): Html {
  if (record === null) {
    const why = missing ? 'The source no longer has a row that makes this item.' : 'No stored row makes this item.';
    return html`<section><h3>Source row</h3><p class="quiet">${why}</p></section>`;
  }
  const { source, stream, place, fields, quarantined } = record;
  const issues = quarantined ?? [];
  const atFault = new Map(
    issues.flatMap((issue) => columnsAtFault(fields, issue).map((column) => [column, issue] as const)),
  );
  const rows = Object.entries(fields).map(([column, value]) => {
    const issue = atFault.get(column);
    const mark = issue === undefined ? null : html` <span class="badge bad">${issue.message}</span>`;
    return html`<tr${issue === undefined ? null : html` class="fault"`}><th scope="row">${fieldName(column)}</th><td>${valueOf(value)}${mark}</td></tr>`;
  });
  return html`<section><h3>Source row</h3><p class="quiet">${source}/${stream}: ${placeText(place)}</p>${issues.map((issue) => issueText(issue, { place, columns: columnsAtFault(fields, issue) }))}
<div class="scroll" tabindex="0" role="region" aria-label="Source row"><table><thead><tr><th scope="col">column</th><th scope="col">value</th></tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function issueText({ message, cure }: Issue, { place, columns }: { place: Place; columns: readonly string[] }): Html {
  return html`<p class="bad">Error, not sent: ${placeText(place, columns)}: ${message}${cure === undefined ? null : html` ${cure}`}</p>`;
}

function mappedSide({ desired, baseline }: ItemDetail): Html {
  const fields = compareFields(desired, baseline);
  const differ = fields.filter(({ difference }) => difference !== 'same').length;
  const said =
    baseline === null
      ? 'The platform has not acknowledged this item yet.'
      : differ === 0
        ? 'The platform has acknowledged the same values.'
        : `${differ} of ${fields.length} fields differ.`;
  return html`<section><h3>Mapped and acknowledged</h3><p class="quiet">${said}</p>
<div class="scroll" tabindex="0" role="region" aria-label="Mapped and acknowledged"><table class="stacks"><thead><tr><th scope="col">field</th><th scope="col">mapped</th><th scope="col">acknowledged</th></tr></thead><tbody>${fields.map((field) => fieldRow(field, baseline !== null))}</tbody></table></div></section>`;
}

/** No field is marked if the platform does not have the item yet, because all fields would be. */
function fieldRow({ field, mapped, acknowledged, difference }: ComparedField, isKnown: boolean): Html {
  const marked = isKnown && difference !== 'same';
  const shown = marked ? html`<mark>${valueOf(mapped)}</mark> ${MARKS[difference]}` : valueOf(mapped);
  return html`<tr${marked ? html` class="differs"` : null}><th scope="row">${fieldName(field)}</th><td data-label="mapped">${shown}</td><td data-label="acknowledged">${marked ? html`<mark>${valueOf(acknowledged)}</mark>` : valueOf(acknowledged)}</td></tr>`;
}

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
