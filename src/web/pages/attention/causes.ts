// How pages describe causes.

import type { Runtime } from '../../../daemon/runtime.ts';
import type { ConfiguredSource } from '../../../daemon/sources/open-source.ts';
import { REASON_COLUMN } from '../../../daemon/uploads/plan-corrections.ts';
import type { CauseType } from '../../../domain/advice.ts';
import { formatPlace, foundText } from '../../../domain/issue.ts';
import type { Cause, CauseMember, RowInQuarantine } from '../../../domain/ports/ledger/dashboard-views.ts';
import { identityOf, RAW_FIELD, readableKey } from '../../../domain/record.ts';
import { stateWord } from '../../../domain/words/states.ts';
import { capitalised } from '../../../lib/errors.ts';
import { type JsonObject, parseIfJson } from '../../../lib/json.ts';
import { isReplayed, membersOf } from '../../../operations/causes.ts';
import { type Html, html } from '../../html.ts';
import { counted, formatCount, timeOf } from '../../shown-values.ts';
import { attentionPath, causePath, itemPath } from '../links.ts';
import type { CauseEntry } from './cause-entries.ts';

/** The state that the badge of each type of cause shows, what its members are, and its name in the filter. */
export const CAUSE_TYPES: Record<CauseType, { badge: string; member: string; name: string }> = {
  quarantine: { badge: 'quarantined', member: 'row', name: 'Rows with an error' },
  blocked: namedAsState('blocked'),
  rejected: namedAsState('rejected'),
  parked: namedAsState('parked'),
  unconfirmed: namedAsState('unconfirmed'),
  part: { badge: 'waiting', member: 'item', name: 'Missing parts' },
  run: { badge: 'failed', member: 'run', name: 'Failed runs' },
  guard: { badge: 'guarded', member: 'record', name: 'Exports held by the guard' },
  held: { badge: 'held', member: 'write', name: 'Runs held for approval' },
  api: namedAsState('api'),
};

/** A type of cause whose members are the items in one state, and which has the name of that state. */
function namedAsState(badge: string) {
  return { badge, member: 'item', name: capitalised(stateWord(badge)) };
}

/** The link to the list of causes without a filter. */
export const ALL_CAUSES = { path: attentionPath(), name: 'Everything that needs attention' };

/** The values of the filter by kind of the list of causes. */
export const CAUSE_TYPE_FILTER = { values: Object.keys(CAUSE_TYPES) as CauseType[], all: ALL_CAUSES };

/** The number of members in words: `9 rows`. */
export function membersText({ type, count }: Pick<Cause, 'type' | 'count'>): string {
  return counted(count, CAUSE_TYPES[type].member);
}

/** The effect of a cause or an entry in words: `9 rows of erp/products. 4 passports wait for this. First seen …`. */
export function effectLine(cause: Cause | CauseEntry): Html {
  const { count, passportsHeld, firstSeenAt } = cause;
  const place = 'causes' in cause ? entryPlace(cause) : placeText(cause);
  const isOne = !('causes' in cause) || cause.causes.length === 1;
  const of = place === '' ? null : isOne ? html` of <span class="mono">${place}</span>` : html` of ${place}`;
  const members = count === 0 ? null : html`<b>${membersText(cause)}</b>${of}. `;
  const wait = passportsHeld === 1 ? 'waits' : 'wait';
  const passports =
    passportsHeld === null
      ? 'How many passports wait for this is not known'
      : passportsHeld === 0
        ? 'No passport waits for this'
        : capitalised(`${atMost(cause)}${counted(passportsHeld, 'passport')} ${wait} for this`);
  return html`${members}<b>${passports}.</b>${firstSeenAt === null ? null : html` First seen ${timeOf(firstSeenAt)}.`}`;
}

/** A value of a cause in a text. An expression that reads several columns has the value of each of them. */
export function valueText(value: string): string {
  const parsed = value.startsWith('{') ? parseIfJson(value) : undefined;
  return foundText({ message: '', value: parsed ?? value });
}

/** In a title at most this many values are named, each with at most so many characters. */
const TITLE_VALUES_MAX = 3;
const TITLE_VALUE_CHARACTERS = 40;

/** The title of a cause with its values: `The country is not known: “Germny” (40), “Tschechei” (11).` */
export function titleText({ title, values, otherValues }: Pick<Cause, 'title' | 'values' | 'otherValues'>): string {
  if (values.length === 0) return title;
  const isRepeated = values.some(({ count }) => count > 1);
  const named = values.slice(0, TITLE_VALUES_MAX).map(({ value, count }) => {
    const text = shortened(valueText(value), TITLE_VALUE_CHARACTERS);
    return isRepeated ? `“${text}” (${formatCount(count)})` : `“${text}”`;
  });
  const others = values.length - named.length + otherValues;
  const more = others === 0 ? '' : ` and ${counted(others, 'other value')}`;
  return `${title.replace(/\.$/, '')}: ${named.join(', ')}${more}.`;
}

export function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}

/** The source and stream of an entry, or how many there are: `54 sources`. */
export function entryPlace({ causes }: CauseEntry): string {
  const [first] = causes;
  if (first === undefined || causes.length === 1) return first === undefined ? '' : placeText(first);
  const sources = new Set(causes.map(({ source }) => source));
  return sources.size === causes.length ? counted(sources.size, 'source') : counted(causes.length, 'stream');
}

/** The id of an entry on the list of causes. */
export function entryId({ id }: Pick<CauseEntry, 'id'>): string {
  return `cause-${id}`;
}

/** The page of the cause of an entry, or the place on the list that has those of its causes. */
export function entryPath({ id, causes }: CauseEntry): string {
  return causes.length === 1 ? causePath(id) : `${attentionPath()}#${entryId({ id })}`;
}

/** Stands before the passports that wait: a passport that waits for two causes of an entry is counted twice. */
export function atMost(cause: Cause | CauseEntry): string {
  return 'causes' in cause && cause.causes.length > 1 ? 'at most ' : '';
}

/** The source and stream of a cause: `erp/products`. An empty text for a cause that is about no source. */
export function placeText({ source, stream }: Cause): string {
  if (source === null) return '';
  return stream === null || stream === 'default' ? source : `${source}/${stream}`;
}

const SEARCHED_KEY_CHARACTERS = 80;

/** The rows in quarantine that a search has found, as one line above the list of results; null if there are none. */
export function quarantinedLine(rows: readonly RowInQuarantine[]): Html | null {
  if (rows.length === 0) return null;
  const parts = rows.map(({ record: { key, place }, cause, product }, at) => {
    const shown = shortened(readableKey(key), SEARCHED_KEY_CHARACTERS);
    const name = product === null ? html`${shown}` : html`<a href="${itemPath('product', product)}">${shown}</a>`;
    return html`${at === 0 ? null : '; '}${name} (${formatPlace(place)}), <a href="${causePath(cause.id)}">${cause.title}</a>`;
  });
  return html`<p class="notice warn">Rows with an error: ${parts}</p>`;
}

/** The stream to which the rows in a file of a cause belong. */
interface RowsTarget {
  source: ConfiguredSource;
  stream: string;
  /** The columns that identify a row; empty if a row is identified by its content. */
  key: readonly string[];
}

const PAGE = 200;

type Reads = Runtime;

/** The stream of the rows of a cause; null if there is no such stream, or the config no longer has it. */
export async function targetOf(cause: Cause, runtime: Reads, abort: AbortSignal): Promise<RowsTarget | null> {
  if (!isReplayed(cause.type)) return null;
  const place =
    cause.source !== null && cause.stream !== null
      ? { source: cause.source, stream: cause.stream }
      : await firstPlace(cause.id, runtime, abort);
  const source = runtime.config.sources.find(({ id }) => id === place?.source);
  const stream = source?.streams.find(({ name }) => name === place?.stream);
  return source === undefined || stream === undefined ? null : { source, stream: stream.name, key: stream.key };
}

/** Why no corrected file of these rows can be uploaded; null if one can. */
export function noUploadReason(target: RowsTarget | null): string | null {
  if (target === null) return 'These are not rows of one stream of the config, so no corrected file can be uploaded.';
  if (target.key.length > 0) return null;
  return `The stream ${target.source.id}/${target.stream} has no key, so a corrected row cannot be matched. Correct the rows in the source.`;
}

async function firstPlace(cause: string, runtime: Reads, abort: AbortSignal) {
  for await (const member of membersOf(cause, { runtime, abort })) {
    const row = await rowOf(member, runtime);
    if (row !== null) return row;
  }
  return null;
}

/** The stored row of a member: the quarantined record, or the record that makes the stuck item. */
async function rowOf(
  { record, item }: CauseMember,
  { reads }: Reads,
): Promise<{ source: string; stream: string; key?: string; fields: JsonObject; wrong: string } | null> {
  if (record !== null)
    return { ...record, wrong: record.issues.map(({ message, cure = '' }) => `${message} ${cure}`.trim()).join(' ') };
  if (item === null || item.kind === 'passport') return null;
  const row = (await reads.itemDetail(item.kind, item.key))?.record ?? null;
  return row && { ...row, wrong: item.reason?.message ?? '' };
}

/** The rows of a cause that belong to one stream, each with what is wrong with it, in bounded pages. */
export async function* rowsOf(
  cause: string,
  { source, stream }: RowsTarget,
  runtime: Reads,
  abort: AbortSignal,
): AsyncGenerator<JsonObject[]> {
  let page: JsonObject[] = [];
  for await (const member of membersOf(cause, { runtime, abort })) {
    const row = await rowOf(member, runtime);
    if (row === null || row.source !== source.id || row.stream !== stream) continue;
    page.push({ ...row.fields, [REASON_COLUMN]: row.wrong });
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/**
 * The keys of the stored records of a cause by the values of their key columns, for the values that uploaded rows have.
 */
export async function keysOf(
  cause: string,
  { target, uploaded }: { target: RowsTarget; uploaded: readonly JsonObject[] },
  runtime: Reads,
  abort: AbortSignal,
): Promise<Map<string, string[]>> {
  const asked = new Set(uploaded.map((fields) => identityOf(fields, target.key)));
  const keys = new Map<string, string[]>();
  for await (const member of membersOf(cause, { runtime, abort })) {
    const row = await rowOf(member, runtime);
    if (row === null || row.source !== target.source.id || row.stream !== target.stream) continue;
    const identity = identityOf(row.fields, target.key);
    if (identity === null || !asked.has(identity)) continue;
    const known = keys.get(identity) ?? [];
    keys.set(identity, known);
    // A stuck item does not name the key of its record. If no other record has the same values in the key columns,
    // these values are the key.
    known.push(row.key ?? identity);
  }
  return keys;
}

/** The columns of these rows, in the order of the source, if complete rows show that order. */
export async function columnsOf(pages: AsyncIterable<readonly JsonObject[]>): Promise<string[]> {
  const columns = new Set<string>();
  const ofBrokenRows = new Set<string>();
  for await (const rows of pages) {
    for (const fields of rows) {
      const to = RAW_FIELD in fields ? ofBrokenRows : columns;
      for (const name of Object.keys(fields)) if (name !== RAW_FIELD && name !== REASON_COLUMN) to.add(name);
    }
  }
  return [...new Set([...columns, ...ofBrokenRows])];
}
