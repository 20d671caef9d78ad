import type { Place } from '../../domain/issue.ts';
import { ITEM_KINDS, type ItemKind, itemHash } from '../../domain/item.ts';
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
      const [name, content] = [`${item.kind} ${item.key}`, itemHash(item)];
      return { item, name, content, known: seen.look(name, content) };
    });
    const other = looks.find(({ known }) => known === 'other')?.item;
    if (other !== undefined) {
      conflicting += 1;
      conflict ??= { place, kind: other.kind, key: other.key };
      return;
    }
    for (const { item, name, content, known } of looks) {
      if (known !== 'same') items[item.kind] += 1;
      if (known === 'unknown') uncompared += 1;
      seen.add(name, content);
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
