// How pages describe causes.
import type { Runtime } from '../../../daemon/runtime.ts';
import type { ConfiguredSource } from '../../../daemon/sources/open-source.ts';
import { REASON_COLUMN } from '../../../daemon/uploads/plan-corrections.ts';
import { formatPlace } from '../../../domain/issue.ts';
import type { Cause, CauseMember, CauseType, RowInQuarantine } from '../../../domain/ports/ledger/dashboard-views.ts';
import { identityOf, RAW_FIELD, readableKey } from '../../../domain/record.ts';
import { STATES } from '../../../domain/words/states.ts';
import type { JsonObject } from '../../../lib/json.ts';
import { membersOf } from '../../../operations/causes.ts';
import { type Html, html } from '../../html.ts';
import { counted } from '../../shown-values.ts';
import { attentionPath, causePath, itemPath } from '../links.ts';

const NOUNS: Record<CauseType, string> = {
  quarantine: 'row',
  blocked: 'item',
  rejected: 'item',
  parked: 'item',
  unconfirmed: 'item',
  run: 'run',
};

export const CAUSE_TYPES: Record<CauseType, { name: string; badge: string; means: string }> = {
  quarantine: { name: 'Quarantine', badge: 'quarantined', means: 'Rows that the mapping or a rule does not accept.' },
  blocked: { name: 'Blocked', badge: 'blocked', means: STATES.blocked.meaning },
  rejected: { name: 'Rejected', badge: 'rejected', means: STATES.rejected.meaning },
  parked: { name: 'Parked', badge: 'parked', means: STATES.parked.meaning },
  unconfirmed: {
    name: 'Unconfirmed',
    badge: 'unconfirmed',
    means: STATES.in_doubt.meaning,
  },
  run: { name: 'Failed runs', badge: 'failed', means: 'The source could not be read.' },
};

/** The link to the list of causes without a filter. */
export const ALL_CAUSES = { path: attentionPath(), name: 'Everything that needs attention' };

/** The values of the filter by kind of the list of causes. */
export const CAUSE_TYPE_FILTER = { values: Object.keys(CAUSE_TYPES) as CauseType[], all: ALL_CAUSES };

/** The number of members in words: `9 rows`. */
export function membersText({ type, count }: Cause): string {
  return counted(count, NOUNS[type]);
}

/** The effect of a cause in words: `9 rows, which hold 4 passports`. */
export function effectText(cause: Cause): string {
  const { count, passportsHeld } = cause;
  if (passportsHeld === null || passportsHeld === 0) return membersText(cause);
  return `${membersText(cause)}, which ${count === 1 ? 'holds' : 'hold'} ${counted(passportsHeld, 'passport')}`;
}

/** The source and stream of a cause: `erp/products`. An empty text for a cause that is about no source. */
export function placeText({ source, stream }: Cause): string {
  if (source === null) return '';
  return stream === null || stream === 'default' ? source : `${source}/${stream}`;
}

/** The rows in quarantine that a search has found, as one line above the list of results; null if there are none. */
export function quarantinedLine(rows: readonly RowInQuarantine[]): Html | null {
  if (rows.length === 0) return null;
  const parts = rows.map(({ record: { key, place }, cause, product }, at) => {
    const shown = readableKey(key);
    const name = product === null ? html`${shown}` : html`<a href="${itemPath('product', product)}">${shown}</a>`;
    return html`${at === 0 ? null : '; '}${name} (${formatPlace(place)}), <a href="${causePath(cause.id)}">${cause.title}</a>`;
  });
  return html`<p class="notice warn">In quarantine: ${parts}</p>`;
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
  if (cause.type === 'run') return null;
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
  if (record !== null) return { ...record, wrong: record.issues.map(({ message }) => message).join(' ') };
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
