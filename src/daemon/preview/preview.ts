import { withCure } from '../../domain/advice.ts';
import type { Issue, Place } from '../../domain/issue.ts';
import { ITEM_KINDS, type Item, type ItemKind, itemHash } from '../../domain/item.ts';
import { createRowEntries, type FindEntry, type LookupTable } from '../../domain/lookup.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import type { SourceRow, SourceStream } from '../../domain/ports/source.ts';
import type { Profile } from '../../domain/profile.ts';
import { identityOf, readableKey } from '../../domain/record.ts';
import { createSeenTexts, markOf } from '../../lib/collections.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { mappableRow } from '../../pipeline/incoming-record.ts';
import { createMappers } from '../sources/mappers.ts';
import { type ConfiguredSource, openSource, type RuntimeConfig } from '../sources/open-source.ts';

/** A record and the result of mapping it. */
export interface PreviewedRecord {
  place: Place;
  /** The values of the stream's key columns; null if it has none or they are empty. */
  key: string | null;
  /** The fields without the columns that are never stored. */
  fields: JsonObject;
  status: 'mapped' | 'excluded' | 'quarantined';
  items: Item[];
  issues: Issue[];
}

/** A page of a stream with the items of its mapping. Its size is limited. */
interface PreviewedPage {
  records: PreviewedRecord[];
  /** How much was read, if the connector knows: bytes of files, rows of tables. */
  progress: { done: number; total: number } | null;
}

/** A source that was opened for a preview. */
export interface Preview {
  /** Reads and maps a stream from its beginning, a page at a time. */
  read(stream: string): AsyncGenerator<PreviewedPage>;
  /** The entries of the lookup tables over streams, which were read for the preview. */
  find: FindEntry;
  close(): Promise<void>;
}

/**
 * Opens a source to read and map its records as a sync would. Nothing is stored. Only the ledger knows whether another
 * record makes the same item, so the preview does not show that.
 *
 * @throws Fault when the mappings are wrong or the source cannot be read
 */
export async function openPreview(
  source: ConfiguredSource,
  config: RuntimeConfig,
  options: { log: Logger; signal: AbortSignal },
): Promise<Preview> {
  const mappers = createMappers({ sources: () => [source], file: config.file, profile: config.profile });
  const mapper = await mappers.refresh(source.id);
  const find = await readLookups(mapper.lookups ?? [], config, options);
  const reader = await openSource(source, config, options.log);
  const omitted = new Set(source.omit);

  function previewOf(row: SourceRow, stream: SourceStream): PreviewedRecord {
    const of = { source: source.id, stream: stream.name, key: stream.key, omitted };
    const record = mappableRow(row, of);
    const result = mapper.map(record, find);
    return {
      place: row.place,
      key: stream.key.length === 0 ? null : identityOf(row.fields, stream.key),
      fields: record.fields,
      status: result.status,
      items: result.status === 'excluded' ? [] : (result.items ?? []).map(withoutMapping),
      issues: result.status === 'quarantined' ? result.issues.map(withCure) : [],
    };
  }

  return {
    async *read(name) {
      const stream = reader.streams.find((one) => one.name === name);
      if (!stream) return;
      const mode = stream.reads === 'changes' ? 'changes' : 'snapshot';
      for await (const { rows, progress = null } of stream.pull({ mode, cursor: null }, options.signal)) {
        const present = rows.filter(({ isGone }) => isGone !== true);
        yield { records: present.map((row) => previewOf(row, stream)), progress };
      }
    },
    find,
    close: () => reader.close(),
  };
}

function withoutMapping({ kind, key, payload, refs }: Item): Item {
  return { kind, key, payload, refs };
}

/** The most rows of a lookup table that a preview keeps in memory. Of a larger stream it keeps the first rows. */
const ROWS_MAX = 500_000;

/**
 * Reads the streams that mappings look up from their sources, because a preview has no ledger.
 *
 * @throws Fault when a source cannot be read
 */
async function readLookups(
  tables: readonly LookupTable[],
  config: RuntimeConfig,
  options: { log: Logger; signal: AbortSignal },
): Promise<FindEntry> {
  const entries = createRowEntries();
  for (const table of tables) await addRowsOf(table, entries.add, { ...options, config });
  return entries.find;
}

async function addRowsOf(
  table: LookupTable,
  add: ReturnType<typeof createRowEntries>['add'],
  { config, log, signal }: { config: RuntimeConfig; log: Logger; signal: AbortSignal },
): Promise<void> {
  const source = config.sources.find(({ id }) => id === table.stream?.source);
  if (source === undefined) return;
  const reader = await openSource(source, config, log);
  try {
    const stream = reader.streams.find(({ name }) => name === table.stream?.stream);
    if (stream === undefined) return;
    const mode = stream.reads === 'changes' ? 'changes' : 'snapshot';
    let count = 0;
    for await (const page of stream.pull({ mode, cursor: null }, signal)) {
      for (const { fields, issues, isGone } of page.rows) if (isGone !== true) add(table, fields, issues);
      count += page.rows.length;
      if (count >= ROWS_MAX) break;
    }
  } finally {
    await reader.close();
  }
}

/** Selects the records that are shown. A record has to fit all given members. */
export interface PreviewFilter {
  /** Only records with issues. */
  issues?: boolean;
  /** Only the record with this key; the values of several key columns are joined by `/`. */
  key?: string;
  /** Only records that make an item with this key or natural key (SKU, code). */
  item?: string;
}

/** A function that says whether a record is shown. */
export function createPreviewFilter(filter: PreviewFilter, profile: Profile): (record: PreviewedRecord) => boolean {
  const { issues = false, key, item } = filter;
  const isItem = ({ kind, key: own, payload }: PreviewedRecord['items'][number]): boolean =>
    own === item || naturalKeyOf(profile, kind, payload)?.value === item;
  return (record) =>
    (!issues || record.issues.length > 0) &&
    (key === undefined || (record.key !== null && (record.key === key || isSameKey(record.key, key)))) &&
    (item === undefined || record.items.some(isItem));
}

function isSameKey(stored: string, typed: string): boolean {
  return withoutBlanks(readableKey(stored)) === withoutBlanks(typed);
}

/** Removes the blanks around `/`, because people write `4711/10` as well as `4711 / 10`. */
function withoutBlanks(key: string): string {
  return key.replaceAll(/\s*\/\s*/g, '/');
}

/** One kind of issue: a rule that is broken in one field. */
interface IssueCount {
  code: string;
  field: string | null;
  /** How many records have this issue. */
  records: number;
  /** The first record with this issue. */
  example: { place: Place; message: string };
}

/** The counts of a read: records = mapped + excluded + quarantined. */
export interface PreviewCounts {
  records: number;
  mapped: number;
  excluded: number;
  /** Records with issues. */
  quarantined: number;
  /** The different items that were made, by kind. */
  items: Record<ItemKind, number>;
  /** Records that make the same item as an earlier record, with the same values. */
  repeating: number;
  /** Those of `repeating` that make no other item. */
  whole: number;
  /** Records that make the same item as an earlier record, with other values. A sync quarantines these records. */
  conflicting: number;
  /** The first conflicting record, with the item; null if there is none. */
  conflict: { place: Place; kind: ItemKind; key: string } | null;
  /** How many of `items` may be repetitions, because too many different items came before them. */
  uncompared: number;
  /** The kinds of issues, the most frequent one first. */
  issues: IssueCount[];
  /** How many issues are of kinds that are not in `issues`. */
  otherIssues: number;
}

/** The most kinds of issues that are counted separately. A module may give any number of codes (I9). */
const KINDS_MAX = 1_000;
/** The most items with which further items are compared. They take up to 50 MB (I9). */
const ITEMS_MAX = 2_000_000;

/** Counts previewed records. The memory that it needs is bounded, for any number of records. */
export function createPreviewCounter(itemsMax = ITEMS_MAX): {
  add(record: PreviewedRecord): void;
  counts(): PreviewCounts;
} {
  const statuses = { mapped: 0, excluded: 0, quarantined: 0 };
  const items = Object.fromEntries(ITEM_KINDS.map((kind) => [kind, 0])) as Record<ItemKind, number>;
  const kinds = new Map<string, IssueCount>();
  let records = 0;
  let otherIssues = 0;
  const seen = createSeenTexts(itemsMax);
  let repeating = 0;
  let whole = 0;
  let conflicting = 0;
  let conflict: PreviewCounts['conflict'] = null;
  let uncompared = 0;

  function addItems({ place, items: made }: PreviewedRecord): void {
    const looks = made.map((item) => {
      const mark = markOf(`${item.kind} ${item.key}`, itemHash(item));
      return { item, mark, known: seen.look(mark) };
    });
    const other = looks.find(({ known }) => known === 'other')?.item;
    if (other !== undefined) {
      conflicting += 1;
      conflict ??= { place, kind: other.kind, key: other.key };
      return;
    }
    for (const { item, mark, known } of looks) {
      if (known !== 'same') items[item.kind] += 1;
      if (known === 'unknown') uncompared += 1;
      seen.add(mark);
    }
    if (looks.some(({ known }) => known === 'same')) repeating += 1;
    if (looks.length > 0 && looks.every(({ known }) => known === 'same')) whole += 1;
  }

  function addIssues({ place, issues }: PreviewedRecord): void {
    const ofRecord = new Set<string>();
    for (const { code, field = null, message } of issues) {
      const id = JSON.stringify([code, field]);
      if (ofRecord.has(id)) continue;
      ofRecord.add(id);
      const known = kinds.get(id);
      if (known !== undefined) known.records += 1;
      else if (kinds.size < KINDS_MAX) kinds.set(id, { code, field, records: 1, example: { place, message } });
      else otherIssues += 1;
    }
  }

  return {
    add(record) {
      records += 1;
      statuses[record.status] += 1;
      addItems(record);
      if (record.issues.length > 0) addIssues(record);
    },
    counts: () => ({
      records,
      ...statuses,
      items: { ...items },
      repeating,
      whole,
      conflicting,
      conflict,
      uncompared,
      issues: [...kinds.values()].toSorted((one, other) => other.records - one.records),
      otherIssues,
    }),
  };
}
