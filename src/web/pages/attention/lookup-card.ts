import { cellText } from '../../../daemon/uploads/merge-row.ts';
import { columnsAtFault } from '../../../daemon/views/columns-at-fault.ts';
import type { Issue } from '../../../domain/issue.ts';
import type { Cause, CauseMember, Listed } from '../../../domain/ports/ledger/dashboard-views.ts';
import { type JsonObject, memberOf } from '../../../lib/json.ts';
import { type Html, html } from '../../html.ts';
import { csrfField } from '../../parts/csrf-field.ts';
import { card } from '../../parts/page-head.ts';
import type { WebRequest } from '../../server/route.ts';
import { causePath } from '../links.ts';

const LOOKED_UP = /\blookup(?:_all)?\(\s*(?:"([^"]*)"|'([^']*)')/g;

/**
 * The form that adds a value to a lookup table; null if the cause has nothing to do with one. A table may lack the value
 * although another function has refused it, as in `country(lookup("countries.csv", row.HERKL, row.HERKL))`.
 */
export function lookupCard(
  { cause, members, lookups }: { cause: Cause; members: Listed<CauseMember>; lookups: readonly string[] },
  request: Pick<WebRequest, 'csrf'>,
): Html | null {
  const record = members.rows[0]?.record ?? null;
  const [issue] = record?.issues ?? [];
  const read = tablesIn(issue?.expression ?? '').filter((name) => lookups.includes(name));
  const names = read.length > 0 || cause.code !== 'lookup.unknown' ? read : lookups;
  if (names.length === 0) return null;
  const key = record === null || issue === undefined ? null : keyOf(record.fields, issue);
  const options = names.map((name) => html`<option value="${name}">${name}</option>`);
  return card('Add a value to a lookup table', [
    html`<p class="quiet">The value replaces the value of the table's file or stream until somebody removes it. Rows that have used the key are mapped again.</p>`,
    html`<form class="stack" method="post" action="${causePath(cause.id)}/lookup">${csrfField(request)}
<div class="field"><label for="lookup">Table</label><select id="lookup" name="lookup">${options}</select></div>
<div class="field"><label for="lookup-key">Key</label><input id="lookup-key" name="key" required maxlength="1000" value="${key ?? cause.example ?? ''}" /></div>
<div class="field"><label for="lookup-value">Value</label><input id="lookup-value" name="value" required maxlength="10000" /></div>
<button>Add the value</button></form>`,
  ]);
}

/** The tables that an expression reads, each once. */
function tablesIn(expression: string): string[] {
  return [...new Set([...expression.matchAll(LOOKED_UP)].map(([, double, single]) => double ?? single ?? ''))];
}

/** The value of the one column at fault; null if there are several. */
function keyOf(fields: JsonObject, issue: Issue): string | null {
  // The key is a value of the row also where the table has a wrong value for it.
  const { lookup: _, ...ofRow } = issue;
  const [column, ...others] = columnsAtFault(fields, ofRow);
  return column === undefined || others.length > 0 ? null : cellText(memberOf(fields, column)).trim();
}
