import { fittingFor } from '../../../domain/advice.ts';
import { cellText, columnsAtFault, formatPlace } from '../../../domain/issue.ts';
import type { Cause, CauseMember, Listed } from '../../../domain/ports/ledger/dashboard-views.ts';
import type { QuarantinedRecord } from '../../../domain/ports/ledger/ledger-views.ts';
import { RAW_FIELD, readableKey } from '../../../domain/record.ts';
import { memberOf } from '../../../lib/json.ts';
import { type CauseReplayed, isReplayed } from '../../../operations/causes.ts';
import { unmappedSentences } from '../../../operations/replay.ts';
import { type Html, html } from '../../html.ts';
import {
  addressWith,
  card,
  commandLine,
  confirmForm,
  csrfField,
  dataTable,
  emptyState,
  pageHead,
  pager,
  withCode,
} from '../../parts.ts';
import { counted, formatCount, stateBadge, timeOf } from '../../shown-values.ts';
import type { Task } from '../../tasks.ts';
import { causePath, decideAbout, itemPath, itemsPath, runPath, runsPath } from '../links.ts';
import { formerConfigText, paragraphs } from '../tasks/outcome-text.ts';
import { CAUSE_TYPES, effectLine, membersText, shortened, titleText, valueText } from './causes.ts';
import { lookupCard } from './lookup-routes.ts';

interface CauseView {
  cause: Cause;
  /** When the last member that the page shows came into the cause; 0 if that was not stored. */
  shownUntil: number;
  members: Listed<CauseMember>;
  /** The names of lookup tables for which a person can give values. */
  lookups: readonly string[];
  /** The task that has tried a replay of this cause; null if there is none. */
  tried: Task | null;
  /** True if the cause has rows of one stream, which can be downloaded. */
  hasRows: boolean;
  /** Why no corrected file can be uploaded; null if one can. */
  noUpload: string | null;
  mayEdit: boolean;
  mayDecide: boolean;
  query: URLSearchParams;
}

/** The page of one cause, with its members and all actions for it. */
export function causePage(view: CauseView, request: { csrf: string }): Html {
  const { cause, members, mayEdit, mayDecide, query } = view;
  const { meaning, type, cure, command } = cause;
  const path = causePath(cause.id);
  const maySettle = mayDecide && fittingFor(cause).settling !== 'never';
  const controls = (item: NonNullable<CauseMember['item']>) => (maySettle ? settleForm(cause, request, item) : null);
  return html`${pageHead(titleText(cause), { actions: stateBadge(CAUSE_TYPES[type].badge) })}
<p class="lead">${effectLine(cause)} ${meaning === null ? null : withCode(meaning)} ${withCode(cure)}${commandLine(command)}</p>
<div class="columns four">${decisionCard(view)}${replayCard(view, request)}${mayEdit ? lookupCard(view, request) : null}${fileCard(view, request)}${settleCard(view, request)}${noteCard(view, request)}</div>
${valuesCard(view)}${
  type === 'guard' || type === 'held' || type === 'api'
    ? null
    : card(membersTitle(view), [
        memberTable(members, cause, controls),
        pager({ path, query: withoutTry(query), listed: members }),
      ])
}`;
}

/** The values of the members, each with the link to the members that have it. */
function valuesCard({ cause, query }: CauseView): Html | null {
  const { values, otherValues, count } = cause;
  if (values.length === 0) return null;
  const path = causePath(cause.id);
  const chosen = query.get('value');
  const rows = values.map(({ value, count: members }) => {
    const text = shortened(valueText(value), VALUE_CHARACTERS);
    return html`<li>${chosen === value ? html`<b>${text}</b>` : html`<a href="${addressWith(path, new URLSearchParams(), { value })}">${text}</a>`} <span class="quiet">${counted(members, CAUSE_TYPES[cause.type].member)}</span></li>`;
  });
  const more = otherValues === 0 ? null : html`<li class="quiet">and ${counted(otherValues, 'other value')}</li>`;
  const all = chosen === null ? null : html`<p><a href="${path}">All ${formatCount(count)}</a></p>`;
  return card('By value', [html`<ul class="standing">${rows}${more}</ul>`, all]);
}

/** What a person decides elsewhere: about an export, a source, or the platform. */
function decisionCard({ cause, mayDecide }: CauseView): Html | null {
  const { type, source } = cause;
  if (type === 'guard' && source !== null) {
    return card('Decide about this export', html`<p>${decideAbout(source, 'export', mayDecide)}</p>`);
  }
  if (type === 'held' && source !== null) {
    return card('Decide about this run', html`<p>${decideAbout(source, 'run', mayDecide)}</p>`);
  }
  if (type === 'run' && source !== null) {
    return card(
      'Read the source again',
      html`<p><a class="button" href="${runsPath({ source })}">Runs of ${source}</a></p>`,
    );
  }
  if (type !== 'api') return null;
  return card(
    'What waits',
    html`<p><a class="button plain" href="${itemsPath({ state: 'due' })}">Items that are due</a></p>`,
  );
}

function withoutTry(query: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams(query);
  kept.delete('tried');
  return kept;
}

function membersTitle({ cause: { type }, query }: CauseView): string {
  const what = type === 'quarantine' ? 'Rows' : type === 'run' ? 'Runs' : 'Items';
  const value = query.get('value');
  return value === null ? what : `${what} with “${shortened(valueText(value), VALUE_CHARACTERS)}”`;
}

function replayCard({ cause, tried, mayEdit }: CauseView, request: { csrf: string }): Html | null {
  if (!isReplayed(cause.type)) return null;
  const action = `${causePath(cause.id)}/replay`;
  const replayed = tried?.outcome?.ok === true ? triedReplay(tried.outcome.result) : null;
  const text =
    cause.type === 'quarantine'
      ? 'Correct the mapping, a value of a lookup table, or the rows. The stored rows are then mapped again.'
      : 'The stored rows are mapped again with the present mapping, and their items are sent again.';
  const effect = `${membersText(cause)} ${cause.count === 1 ? 'is' : 'are'} mapped again, not only those on this page. The items that pass are sent to the platform.`;
  return card('Try again', [
    html`<p class="quiet">${text}</p>`,
    html`<div id="tried" data-live>${triedText(tried, cause, replayed)}</div>`,
    mayEdit
      ? html`<div class="row">${confirmForm(request, { action: `${action}/try`, button: 'Test without sending', tone: 'plain' })}${confirmForm(
          request,
          { action, button: `Try ${membersText(cause)} again`, text: effect },
        )}</div>`
      : null,
  ]);
}

/** The result of a try. It is in the memory of this process. */
function triedReplay(result: unknown): CauseReplayed | null {
  return typeof result === 'object' && result !== null && 'replayed' in result ? (result as CauseReplayed) : null;
}

function triedText(tried: Task | null, { type }: Cause, replayed: CauseReplayed | null): Html | null {
  if (tried === null) return null;
  const { outcome, id, endedAt } = tried;
  if (outcome === null)
    return html`<p role="status">dpp-sync counts the rows that would pass. <a href="/tasks/${id}">Open the task</a>, or load the page again.</p>`;
  if (!outcome.ok) return html`<p class="bad" role="status">${outcome.message} ${outcome.suggestion}</p>`;
  if (replayed === null) return null;
  const text = type === 'quarantine' ? passingText(replayed) : askedText(replayed);
  return html`<p role="status">${text} <span class="quiet">Counted ${timeOf(endedAt)}.</span></p>${paragraphs(unmappedSentences(replayed.replayed.unmapped))}${replayed.usedFormerConfig ? formerConfigText() : null}`;
}

/** How many quarantined rows a replay would map, in a sentence. */
function passingText({ members, replayed: { records, passing } }: CauseReplayed): Html {
  const of = records === 0 ? members : records;
  const look = passing === 0 ? 'bad' : passing < of ? 'warn' : 'good';
  return html`<b class="${look}">${formatCount(passing)} of ${formatCount(of)} would pass now.</b>`;
}

/** How many stuck items a replay would send again, in sentences. Only the platform decides whether it accepts them. */
function askedText({ members, replayed }: CauseReplayed): Html {
  const { staged, quarantined, leftUnconfirmed, passports } = replayed;
  const asked = Math.min(staged, members);
  const look = asked === 0 ? 'bad' : 'warn';
  const decides = asked === 0 ? null : ` The platform decides whether ${asked === 1 ? 'it passes' : 'they pass'}.`;
  const failing = quarantined === 0 ? null : ` ${counted(quarantined, 'row')} would still fail in the mapping.`;
  const incomplete =
    passports.incomplete === 0
      ? null
      : ` ${counted(passports.incomplete, 'passport')} cannot be sent, because ${passports.incomplete === 1 ? 'its product is' : 'their products are'} incomplete.`;
  const unconfirmed =
    leftUnconfirmed === 0
      ? null
      : ` ${counted(leftUnconfirmed, 'item')} may have arrived, so a replay does not send ${leftUnconfirmed === 1 ? 'it' : 'them'} again. Settle ${leftUnconfirmed === 1 ? 'it' : 'them'} instead.`;
  return html`<b class="${look}">${formatCount(asked)} of ${formatCount(members)} would be sent again.</b>${decides}${failing}${incomplete}${unconfirmed}`;
}

const SETTLED = [
  {
    value: 'delivered',
    name: 'It is there',
    text: 'The platform has what was sent. dpp-sync stores that as the acknowledged payload.',
  },
  {
    value: 'rejected',
    name: 'It is not there',
    text: 'The platform does not have the write. dpp-sync sends the next change.',
  },
  { value: 'ignored', name: 'Leave it', text: 'The platform stays as it is, until the source changes.' },
] as const;

function settleCard({ cause, shownUntil, mayDecide }: CauseView, request: { csrf: string }): Html | null {
  const { settling } = fittingFor(cause);
  if (!mayDecide || settling === 'never') return null;
  const forms = SETTLED.filter(({ value }) => cause.type !== 'unconfirmed' || value !== 'ignored').map(
    ({ value, name, text }) =>
      confirmForm(request, {
        action: `${causePath(cause.id)}/settle`,
        fields: { resolution: value, until: String(shownUntil) },
        button: `${name}: ${membersText(cause)}`,
        text: `${text} This is done for ${membersText(cause)}, not only for those on this page.`,
        tone: settling === 'first' ? 'usual' : 'plain',
      }),
  );
  const believes = html`<p class="quiet">Look at the platform first: dpp-sync believes your answer.</p>`;
  if (settling === 'first')
    return card('I have looked at the platform', [believes, html`<div class="row">${forms}</div>`]);
  return card('I have looked at the platform', [
    html`<p class="quiet">The platform has refused the write, so nothing has to be looked up. If a person has changed the platform by hand since, or the platform may stay as it is, say so here.</p>`,
    html`<details><summary>Say what the platform has</summary>${believes}<div class="row">${forms}</div></details>`,
  ]);
}

function settleForm(
  { id, type }: Cause,
  request: { csrf: string },
  { kind, key, naturalKey, revision }: NonNullable<CauseMember['item']>,
): Html {
  const name = naturalKey ?? key;
  const mayIgnore = type !== 'unconfirmed' && kind !== 'passport';
  const options = SETTLED.filter(({ value }) => mayIgnore || value !== 'ignored').map(
    ({ value, name: text }) => html`<option value="${value}">${text}</option>`,
  );
  return html`<form class="inline" method="post" action="${causePath(id)}/settle">${csrfField(request)}<input type="hidden" name="kind" value="${kind}" /><input type="hidden" name="key" value="${key}" /><input type="hidden" name="revision" value="${revision}" /><select name="resolution" aria-label="Result of ${name}">${options}</select> <button class="plain" aria-label="Settle ${name}">Settle</button></form>`;
}

function fileCard({ cause, hasRows, noUpload, mayEdit }: CauseView, request: { csrf: string }): Html | null {
  if (!hasRows || !fittingFor(cause).rows) return null;
  const path = causePath(cause.id);
  const upload =
    noUpload !== null
      ? html`<p class="quiet">${noUpload}</p>`
      : html`<form class="stack" method="post" action="${path}/upload" enctype="multipart/form-data">${csrfField(request)}
<div class="field"><label for="file">The corrected file (CSV or XLSX)</label><input id="file" type="file" name="file" accept=".csv,.txt,.tsv,.xlsx" required /></div>
<button class="plain">Upload and look at what would happen</button></form>
<p class="quiet">Nothing is stored before you have confirmed it. The next export of the source replaces these rows: to make a correction permanent, correct the source.</p>`;
  return card('Correct the rows in a spreadsheet', [
    html`<p class="row"><a class="button plain" href="${path}/rows.xlsx">Download as XLSX</a> <a class="button plain" href="${path}/rows.csv">Download as CSV</a></p>`,
    mayEdit ? upload : null,
  ]);
}

function noteCard({ cause, mayEdit }: CauseView, request: { csrf: string }): Html | null {
  const { note, id } = cause;
  const by = note === null ? null : html`<p class="quiet">Noted by ${note.by}, ${timeOf(note.at)}.</p>`;
  if (!mayEdit) {
    return note === null
      ? null
      : card('Note', [html`<p>${note.owner === '' ? null : html`<b>${note.owner}</b>: `}${note.text}</p>`, by]);
  }
  return card('Note and owner', [
    html`<form class="stack" method="post" action="${causePath(id)}/note">${csrfField(request)}<input type="hidden" name="noted" value="${note?.at ?? 0}" />
<div class="field"><label for="owner">Who takes care of the cause</label><input id="owner" name="owner" maxlength="200" value="${note?.owner ?? ''}" /></div>
<div class="field"><label for="note">Note</label><textarea id="note" name="text" rows="3" maxlength="4000">${note?.text ?? ''}</textarea></div>
<button class="plain">Save the note</button></form>`,
    by,
  ]);
}

type StuckItem = NonNullable<CauseMember['item']>;

const CELL_CHARACTERS = 120;
const VALUE_CHARACTERS = 60;

/** @param controls the controls for one item; null if a person can do nothing */
function memberTable({ rows }: Listed<CauseMember>, { type }: Cause, controls: (item: StuckItem) => Html | null): Html {
  if (rows.length === 0) return emptyState('Nothing is stuck for this cause any more.');
  if (type === 'run') return runTable(rows.flatMap(({ run }) => run ?? []));
  const records = rows.flatMap(({ record }) => record ?? []);
  if (type === 'quarantine') return recordTable(records);
  return itemTable(
    rows.flatMap(({ item }) => item ?? []),
    controls,
  );
}

/** A table of the source's rows. The cells at fault are marked, and their problems are below each row. */
export function recordTable(records: readonly QuarantinedRecord[]): Html {
  const columns = [...new Set(records.flatMap(({ fields }) => Object.keys(fields)))];
  const heads = columns.map((name) => html`<th scope="col">${columnName(name)}</th>`);
  const body = records.map((record) => {
    const wrong = new Set(record.issues.flatMap((issue) => columnsAtFault(record.fields, issue)));
    const cells = columns.map((name) => cell(name, cellText(memberOf(record.fields, name)), wrong.has(name)));
    const issues = record.issues.map(
      ({ message, cure }) =>
        html`<li>${message}${cure === undefined ? null : html` <span class="quiet">${withCode(cure)}</span>`}</li>`,
    );
    return html`<tr><th scope="row" rowspan="2"><span class="mono">${formatPlace(record.place)}</span><br /><span class="quiet">${shortened(readableKey(record.key), CELL_CHARACTERS)}</span></th>${cells}</tr>
<tr class="issues"><td colspan="${Math.max(1, columns.length)}"><ul>${issues}</ul></td></tr>`;
  });
  return html`<div class="scroll" role="region" aria-label="Rows" tabindex="0"><table class="rows stacks">
<caption class="unseen">The rows as the source gave them. Wrong cells are marked.</caption>
<thead><tr><th scope="col">place and key</th>${heads}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function columnName(name: string): string {
  return name === RAW_FIELD ? 'text of the row' : name;
}

function cell(column: string, text: string, isWrong: boolean): Html {
  const shown = text.length > CELL_CHARACTERS ? `${text.slice(0, CELL_CHARACTERS)}…` : text;
  const label = html` data-label="${columnName(column)}"`;
  if (!isWrong) return html`<td${label}>${shown}</td>`;
  const empty = html`<span class="quiet">(empty)</span>`;
  return html`<td class="wrong"${label}><span class="unseen">Wrong: </span>${shown.trim() === '' ? empty : shown}</td>`;
}

function itemTable(items: readonly StuckItem[], controls: (item: StuckItem) => Html | null): Html {
  const rows = items.map((item) => {
    const { kind, key, naturalKey, name, state, reason } = item;
    return [
      html`<a href="${itemPath(kind, key)}">${naturalKey ?? key}</a>${name === null ? null : html`<br /><span class="quiet">${name}</span>`}`,
      stateBadge(state),
      withCode(reason.message),
      controls(item),
    ];
  });
  const columns = [
    { name: 'item' },
    { name: 'state' },
    { name: 'why' },
    { name: html`<span class="unseen">what to do</span>` },
  ];
  return dataTable({ caption: 'Items', columns, rows });
}

function runTable(runs: readonly NonNullable<CauseMember['run']>[]): Html {
  const rows = runs.map(({ id, source, startedAt, error }) => [
    html`<a href="${runPath(id)}">Run ${id} of ${source}</a>`,
    timeOf(startedAt),
    error,
  ]);
  return dataTable({ caption: 'Failed runs', columns: [{ name: 'run' }, { name: 'started' }, { name: 'why' }], rows });
}
