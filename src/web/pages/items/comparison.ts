import { columnsAtFault } from '../../../daemon/views/columns-at-fault.ts';
import type { Issue } from '../../../domain/issue.ts';
import type { Place } from '../../../domain/place.ts';
import type { ItemDetail } from '../../../domain/ports/ledger/dashboard-views.ts';
import { type Html, html } from '../../html.ts';
import { type ComparedField, compareFields, type Difference, fieldName, placeText, valueOf } from './values.ts';

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
  return html`<p class="bad">Quarantined: ${placeText(place, columns)}: ${message}${cure === undefined ? null : html` ${cure}`}</p>`;
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
