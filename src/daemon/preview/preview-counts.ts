import { ITEM_KINDS, type ItemKind } from '../../domain/item.ts';
import type { Place } from '../../domain/place.ts';
import { createSeenTexts } from '../../lib/seen-texts.ts';
import type { PreviewedRecord } from './preview.ts';

/** One kind of issue: a rule that is broken in one field. */
export interface IssueCount {
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
  /** Records that make an item which an earlier record has made. */
  repeating: number;
  /** How many of `items` may be repetitions: they were not compared, because too many different items came before. */
  uncompared: number;
  /** The kinds of issues, the most frequent one first. */
  issues: IssueCount[];
  /** How many issues are of kinds that are not in `issues`. */
  otherIssues: number;
}

/** The most kinds of issues that are counted separately. A module may give any number of codes (I9). */
const KINDS_MAX = 1_000;
/** The most items with which further items are compared. They take up to 34 MB (I9). */
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
  let uncompared = 0;

  function addItems(made: PreviewedRecord['items']): void {
    let repeats = false;
    for (const { kind, key } of made) {
      const known = seen(`${kind} ${key}`);
      if (known === 'before') repeats = true;
      else items[kind] += 1;
      if (known === 'unknown') uncompared += 1;
    }
    if (repeats) repeating += 1;
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
      addItems(record.items);
      if (record.issues.length > 0) addIssues(record);
    },
    counts: () => ({
      records,
      ...statuses,
      items: { ...items },
      repeating,
      uncompared,
      issues: [...kinds.values()].toSorted((one, other) => other.records - one.records),
      otherIssues,
    }),
  };
}
