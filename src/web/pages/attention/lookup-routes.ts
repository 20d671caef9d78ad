import { cellText, columnsAtFault, type Issue } from '../../../domain/issue.ts';
import type { Cause, CauseMember, Listed, LookupValue } from '../../../domain/ports/ledger/dashboard-views.ts';
import { type JsonObject, memberOf } from '../../../lib/json.ts';
import { removeLookupValue, setLookupValue } from '../../../operations/corrections.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, csrfField, dataTable, pageHead } from '../../parts.ts';
import { mayDo } from '../../server/answers.ts';
import {
  form,
  get,
  type Notice,
  type PageContext,
  type Route,
  type WebAnswer,
  type WebRequest,
} from '../../server/route.ts';
import { counted, timeOf } from '../../shown-values.ts';
import { badRequest } from '../../web-fault.ts';
import { causePath } from '../links.ts';

const PATH = '/attention/lookup-values';

/** The names of the lookup tables of a source, or of all sources. */
export function lookupNames({ runtime }: PageContext, source: string | null): string[] {
  const tables = [...runtime.mappers.lookups()].flatMap(([id, of]) => (source === null || id === source ? of : []));
  return [...new Set(tables.map(({ name }) => name))].sort();
}

/** Stores the value of a form, and reports the result. */
export async function storeLookupValue(
  { form, person }: WebRequest,
  { people, runtime }: PageContext,
): Promise<Notice> {
  const [lookup = '', key = '', value = ''] = ['lookup', 'key', 'value'].map((name) => form.get(name) ?? '');
  if (lookup === '' || key.trim() === '' || value.trim() === '')
    throw badRequest('Give the table, the key and the value.');
  const given = { lookup, key: key.trim(), value: value.trim() };
  const before = await valueByHand(given, people);
  const { records } = await people.setLookupValue({ ...given, by: person.name });
  runtime.engine.wake();
  // Somebody else may have added the former value after this person's page was loaded.
  const former = before === null || before === given.value ? '' : ` A person had set “${before}” before.`;
  const text = `“${given.key}” in ${lookup} means “${given.value}” now.${former} ${mappedAgain(records)}`;
  return { text, tone: 'good' };
}

/** The value that a person has given for a key; null if there is none. */
async function valueByHand(
  { lookup, key }: Pick<LookupValue, 'lookup' | 'key'>,
  people: PageContext['people'],
): Promise<string | null> {
  const values = await people.valuesByHand();
  return values.find((one) => one.lookup === lookup && one.key === key)?.value ?? null;
}

function mappedAgain(records: number): string {
  if (records === 0) return 'No stored row has to be mapped again.';
  return `${counted(records, 'row')} that ${records === 1 ? 'has' : 'have'} used it ${records === 1 ? 'is' : 'are'} mapped again.`;
}

/** The routes for values that people add to lookup tables: the list, adding and removing. */
export function lookupRoutes(context: PageContext): Route[] {
  const { reads, people, runtime } = context;

  async function list(request: WebRequest): Promise<WebAnswer> {
    const view = { values: await reads.lookupValues(), names: lookupNames(context, null) };
    return { type: 'page', title: 'Values of lookup tables', at: '/attention', body: valuesPage(view, request) };
  }

  async function remove({ form }: WebRequest): Promise<WebAnswer> {
    const [lookup = '', key = '', value = ''] = ['lookup', 'key', 'value'].map((name) => form.get(name) ?? '');
    const present = await valueByHand({ lookup, key }, people);
    if (present !== value) {
      const what =
        present === null
          ? `The value of “${key}” in ${lookup} was removed before`
          : `“${key}” in ${lookup} means “${present}” now`;
      return { type: 'redirect', to: PATH, notice: { text: `${what}, so nothing was removed.`, tone: 'warn' } };
    }
    const { records } = await people.removeLookupValue(lookup, key);
    runtime.engine.wake();
    const text = `“${key}” in ${lookup} has the value of its file or stream again. ${mappedAgain(records)}`;
    return { type: 'redirect', to: PATH, notice: { text, tone: 'good' } };
  }

  return [
    get(PATH, 'viewer', list, { fields: { names: [], all: { path: PATH, name: 'All values' } } }),
    form(PATH, setLookupValue, async (request) => {
      return { type: 'redirect', to: PATH, notice: await storeLookupValue(request, context) };
    }),
    form(`${PATH}/remove`, removeLookupValue, remove),
  ];
}

function valuesPage(
  { values, names }: { values: readonly LookupValue[]; names: readonly string[] },
  request: WebRequest,
): Html {
  const mayEdit = mayDo(request.person, 'editor');
  const rows = values.map(({ lookup, key, value, by, at }) => [
    lookup,
    key,
    value,
    by,
    timeOf(at),
    mayEdit
      ? confirmForm(request, {
          action: `${PATH}/remove`,
          fields: { lookup, key, value },
          button: 'Remove',
          text: 'The file or stream of the table decides the value again. Rows that have used the key are mapped again.',
        })
      : null,
  ]);
  const columns = ['table', 'key', 'value', 'added by', 'when', ''].map((name) => ({
    name: name === '' ? html`<span class="unseen">what to do</span>` : name,
  }));
  const table = dataTable({
    caption: 'Values that people have added',
    columns,
    rows,
    empty: 'Nobody has added a value.',
  });
  return html`${pageHead('Values of lookup tables', { lead: 'These values replace the values of the files and streams of the tables.' })}
${card(null, table)}${mayEdit && names.length > 0 ? card('Add a value', addForm(PATH, names, request)) : null}`;
}

/** The form that adds a value to one of these tables. */
function addForm(action: string, names: readonly string[], request: { csrf: string }, key = ''): Html {
  const options = names.map((name) => html`<option value="${name}">${name}</option>`);
  return html`<form class="stack" method="post" action="${action}">${csrfField(request)}
<div class="field"><label for="lookup">Table</label><select id="lookup" name="lookup">${options}</select></div>
<div class="field"><label for="lookup-key">Key</label><input id="lookup-key" name="key" required maxlength="1000" value="${key}" /></div>
<div class="field"><label for="lookup-value">Value</label><input id="lookup-value" name="value" required maxlength="10000" /></div>
<button>Add the value</button></form>`;
}

const LOOKED_UP = /\blookup(?:_all)?\(\s*(?:"([^"]*)"|'([^']*)')/g;

/**
 * The form that adds a value to a lookup table; null if the cause has nothing to do with one. A table may lack the value
 * although another function has refused it, as in `country(lookup("countries.csv", row.HERKL, row.HERKL))`.
 */
export function lookupCard(
  { cause, members, lookups }: { cause: Cause; members: Listed<CauseMember>; lookups: readonly string[] },
  request: { csrf: string },
): Html | null {
  const record = members.rows[0]?.record ?? null;
  const [issue] = record?.issues ?? [];
  const read = tablesIn(issue?.expression ?? '').filter((name) => lookups.includes(name));
  const names = read.length > 0 || cause.code !== 'lookup.unknown' ? read : lookups;
  if (names.length === 0) return null;
  const key = record === null || issue === undefined ? null : keyOf(record.fields, issue);
  return card('Add a value to a lookup table', [
    html`<p class="quiet">The value replaces the value of the table's file or stream until somebody removes it. Rows that have used the key are mapped again.</p>`,
    addForm(`${causePath(cause.id)}/lookup`, names, request, key ?? cause.example ?? ''),
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
