import type { Runtime } from '../../../daemon/runtime.ts';
import type { ConfiguredSource } from '../../../daemon/sources/open-source.ts';
import { REASON_COLUMN } from '../../../daemon/uploads/plan-corrections.ts';
import type { Cause, CauseMember } from '../../../domain/ports/ledger/dashboard-views.ts';
import { identityOf, RAW_FIELD } from '../../../domain/record.ts';
import type { JsonObject } from '../../../lib/json.ts';
import { membersOf } from '../../../operations/causes.ts';

/** The stream to which the rows in a file of a cause belong. */
export interface RowsTarget {
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
