import type { LookupValue } from '../../../domain/ports/ledger/dashboard-views.ts';
import { type Html, html } from '../../html.ts';
import { confirmForm } from '../../parts/confirm-form.ts';
import { counted } from '../../parts/count-link.ts';
import { csrfField } from '../../parts/csrf-field.ts';
import { dataTable } from '../../parts/data-table.ts';
import { card, pageHead } from '../../parts/page-head.ts';
import { timeOf } from '../../parts/time.ts';
import { mayDo } from '../../server/answers.ts';
import type { PageContext } from '../../server/page-context.ts';
import type { Notice, Route, WebRequest } from '../../server/route.ts';
import { badRequest } from '../../server/web-fault.ts';

const PATH = '/attention/lookup-values';

/** The names of the lookup tables of a source, or of all sources. */
export function lookupNames({ runtime }: Pick<PageContext, 'runtime'>, source: string | null): string[] {
  const tables = [...runtime.mappers.lookups()].flatMap(([id, of]) => (source === null || id === source ? of : []));
  return [...new Set(tables.map(({ name }) => name))].sort();
}

/** Stores the value of a form, and reports the result. */
export async function storeLookupValue(
  { form, person }: WebRequest,
  { people, runtime }: Pick<PageContext, 'people' | 'runtime'>,
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
  people: Pick<PageContext['people'], 'valuesByHand'>,
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
  const { dashboard, people, runtime } = context;
  return [
    {
      method: 'GET',
      path: PATH,
      role: 'viewer',
      fields: { names: [], all: { path: PATH, name: 'All values' } },
      async handle(request) {
        const view = { values: await dashboard.lookupValues(), names: lookupNames(context, null) };
        return { type: 'page', title: 'Values of lookup tables', at: '/attention', body: valuesPage(view, request) };
      },
    },
    {
      method: 'POST',
      path: PATH,
      role: 'editor',
      action: 'lookup.set',
      async handle(request) {
        return { type: 'redirect', to: PATH, notice: await storeLookupValue(request, context) };
      },
    },
    {
      method: 'POST',
      path: `${PATH}/remove`,
      role: 'editor',
      action: 'lookup.remove',
      async handle({ form }) {
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
      },
    },
  ];
}

function valuesPage(
  { values, names }: { values: readonly LookupValue[]; names: readonly string[] },
  request: Pick<WebRequest, 'csrf' | 'person'>,
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
${card(null, table)}${mayEdit && names.length > 0 ? addCard(names, request) : null}`;
}

function addCard(names: readonly string[], request: Pick<WebRequest, 'csrf'>): Html {
  const options = names.map((name) => html`<option value="${name}">${name}</option>`);
  return card('Add a value', [
    html`<form class="stack" method="post" action="${PATH}">${csrfField(request)}
<div class="field"><label for="lookup">Table</label><select id="lookup" name="lookup">${options}</select></div>
<div class="field"><label for="lookup-key">Key</label><input id="lookup-key" name="key" required maxlength="1000" /></div>
<div class="field"><label for="lookup-value">Value</label><input id="lookup-value" name="value" required maxlength="10000" /></div>
<button>Add the value</button></form>`,
  ]);
}
