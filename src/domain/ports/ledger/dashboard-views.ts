// The read side of the ledger for the dashboard, the admin API and `dpp-sync why`: lists with a filter, a count and a
// place to continue, and answers about one item. Each method reads the ledger at one moment and takes less than 50 ms
// with a million items.

import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import type { Activity } from '../../activity.ts';
import type { Advice, ApiTrouble, CauseType } from '../../advice.ts';
import type { Reason } from '../../delivery/stored-reason.ts';
import type { ItemKind, SubjectKind } from '../../item.ts';
import type { PassportCounts, PassportState } from '../../passport.ts';
import type { ItemState } from './ledger-standing.ts';
import type {
  ItemFilter,
  ItemSummary,
  ItemView,
  QuarantinedRecord,
  RefStanding,
  RunView,
  SourceCounts,
} from './ledger-views.ts';

/** Where a list continues: the opaque `next` of the page before it. At most 500 rows a page. */
export interface ListPage {
  after?: string | undefined;
  limit: number;
  /** False if nobody reads the total: the lists of items and of rows in quarantine then count only the rows of the page. */
  counts?: false;
}

export interface Listed<Row> {
  rows: Row[];
  /** Null at the end of the list. */
  next: string | null;
  /** How many rows the filter selects. `atLeast` is true if counting stopped at a bound. */
  total: { count: number; atLeast: boolean };
}

export interface ItemListFilter {
  kind?: SubjectKind | undefined;
  /**
   * `open`: items that are neither delivered nor superseded. `attention`: items that need a person. The states of `ItemFilter`
   * have the same meaning here.
   */
  state?: ItemFilter['state'] | 'open' | 'attention' | undefined;
  source?: string | undefined;
  /** A part of a key, a natural key or a name. */
  search?: string | undefined;
  /** The id of a cause. */
  cause?: string | undefined;
  /** Items that the run changed. */
  run?: number | undefined;
}

export interface ItemRow extends ItemSummary {
  id: number;
  /** When the present state began. */
  since: number | null;
}

/** A node of the tree of a product's BOM items. */
export interface BomNode {
  /** The BOM item; null at the root. */
  bomItem: { key: string; state: ItemState; quantity: string | null; unit: string | null } | null;
  kind: ItemKind;
  key: string;
  naturalKey: string | null;
  name: string | null;
  /** Null if no source has given the item. */
  state: ItemState | null;
  children: BomNode[];
  /** How many children are not in `children`, because the tree was cut. */
  cut: number;
  /** True if the product is one of its own ancestors; its children are not repeated. */
  cycle: boolean;
}

export interface ItemDetail extends ItemView {
  id: number;
  since: number | null;
  /** The items that refer to this item: the first of them, and their number. */
  usedBy: { rows: (RefStanding & { naturalKey: string | null; name: string | null })[]; count: number };
  /** Null if the item is not a product. */
  bom: BomNode | null;
}

/** One step of the answer to `why`, in the order of cause and effect. */
export interface WhyStep {
  /**
   * `ok`: this step is done. `stop`: the passport waits for this step. `waits`: this step follows without a person.
   * `unknown`: not known yet.
   */
  standing: 'ok' | 'stop' | 'waits' | 'unknown';
  /** Full sentences: the fact, the place, and the action if a person has to act. */
  text: string;
  /** What a person can do, as a command; null if nothing is to be done. */
  command: string | null;
  /** The item that the step is about. */
  item: { kind: SubjectKind; key: string } | null;
  /** The quarantined record that the step is about. */
  record: number | null;
  /** The words for the cause of the step; null if a person has nothing to do, or if the step is about no single cause. */
  advice: Advice | null;
  /** The id of the cause that the step is a part of, if it is about an item that no row gives; otherwise null. */
  cause: string | null;
}

/** Why a product's passport is published or not: the steps from the source's row to the passport. */
export interface Why {
  key: string;
  naturalKey: string | null;
  name: string | null;
  /** The answer in one sentence. */
  answer: string;
  published: boolean;
  steps: WhyStep[];
}

/** A value at fault, and how many members of the cause have it. */
export interface CauseValue {
  value: string;
  count: number;
}

/** Rows or items that are stuck for one reason, with what to do about the first of them. */
export interface Cause extends Advice {
  /**
   * Lower-case hexadecimal. The id is stable over restarts, because it is made from type, rule, field and source, and
   * never from a count or a time.
   */
  id: string;
  type: CauseType;
  source: string | null;
  stream: string | null;
  /** The code of the issue or of the reason. */
  code: string;
  field: string | null;
  count: number;
  /** How many passports cannot be published because of this cause; null if that is not known. */
  passportsHeld: number | null;
  /** When the first member came into the cause, and when the last one did; null if that was not stored. */
  firstSeenAt: number | null;
  lastSeenAt: number | null;
  note: CauseNote | null;
  /** The value of the first member that shows the fault. */
  example: string | null;
  /** The values at fault, the most frequent first; empty if the members have none, or are too many to be counted one by one. */
  values: CauseValue[];
  /** How many values are not in `values`. */
  otherValues: number;
}

/** The products that are gone in a read that the guard holds, or that use what is gone. */
export interface GoneEffect {
  stream: string;
  /** How many products these are, and how many of their passports are public; null if so much is gone that they are not counted. */
  products: number | null;
  public: number | null;
  /** The keys of the first of them, those with public passports first. */
  examples: string[];
}

/** Which of the rows that are gone from a stream are read. */
export interface GoneRowsAsked {
  source: string;
  stream: string;
  /** The records that the export lacks, or the items that no row makes any more. */
  of: 'lost' | 'released';
  afterId: number;
  limit: number;
}

export interface GoneRow {
  /** The fields of the record, or kind and key of the item. */
  fields: JsonObject;
  /** The keys of the first products that it makes, or that use it; how many there are, and how many of their passports are public. */
  products: string[];
  productCount: number;
  publicCount: number;
}

export interface GoneRows {
  rows: GoneRow[];
  /** Null after the last page. */
  lastId: number | null;
}

/** A cause before the notes of people are added. */
export type FoundCause = Omit<Cause, 'note'>;

export interface CauseNote {
  text: string;
  owner: string;
  by: string;
  at: number;
}

/** A member of a cause: a quarantined record, a stuck item or a failed run. */
export interface CauseMember {
  record: QuarantinedRecord | null;
  item: {
    kind: SubjectKind;
    key: string;
    naturalKey: string | null;
    name: string | null;
    /** The revision of the delivery that is stuck. */
    revision: number;
    state: ItemState;
    /** When the item came into the cause; null if that was not stored. */
    since: number | null;
    reason: Reason;
  } | null;
  run: RunView | null;
}

/** A row in quarantine, with the cause that it is a member of. */
export interface RowInQuarantine {
  record: QuarantinedRecord;
  cause: { id: string; title: string };
  /** The key of the product that the row makes or belongs to; null if the product is not known. */
  product: string | null;
}

export interface PassportRow {
  /** The product's key. */
  product: string;
  /** The product's id at the platform, or null. */
  remoteId: JsonValue;
  naturalKey: string | null;
  name: string | null;
  source: string | null;
  state: PassportState;
  /** Why the passport waits, as sentences: its blockers, or another cause. The first cause is first. Empty if unknown. */
  blockers: string[];
  reason: Reason | null;
  since: number | null;
}

export interface PassportFilter {
  state?: PassportState | undefined;
  source?: string | undefined;
  search?: string | undefined;
}

export interface RunFilter {
  source?: string | undefined;
  stream?: string | undefined;
  result?: 'complete' | 'failed' | 'guarded' | 'held' | 'interrupted' | 'running' | undefined;
}

/** An entry of the audit log. */
export interface ActionRow {
  id: number;
  at: number;
  who: string;
  /** `web`, `api` or `command`. */
  via: string;
  action: string;
  detail: JsonObject;
  /** The result of the action; null while the action runs. */
  outcome: string | null;
}

export interface LookupValue {
  lookup: string;
  key: string;
  value: string;
  by: string;
  at: number;
}

/** The passports by state at the end of a day, or when they were counted last on it. Times are in UTC. */
export interface PassportDay {
  /** When the day begins, in milliseconds since the Unix epoch. */
  day: number;
  counts: PassportCounts;
}

/** How many runs of a source began on a day, by result, and how many rows they changed. */
export interface RunDay {
  source: string;
  /** When the day begins in UTC. */
  day: number;
  runs: number;
  complete: number;
  failed: number;
  /** Runs of which the guard held a stream. */
  guarded: number;
  /** Runs that would have done more than is allowed. */
  held: number;
  interrupted: number;
  /** 1 if the newest run of the source began on this day and has no end: it is under way or was interrupted. */
  open: number;
  changed: number;
}

/** What the pictures of the dashboard show of the past, and how many rows the sources have now. */
interface History {
  passportDays: PassportDay[];
  runDays: RunDay[];
  rows: number;
}

export interface DashboardViews {
  /** Counts for the metrics. @param now in milliseconds since the epoch: what is due later does not count as due */
  sourceCounts(now: number): SourceCounts;
  items(filter: ItemListFilter, page: ListPage): Listed<ItemRow>;
  /** An item, by its key or natural key. */
  itemDetail(kind: SubjectKind, key: string): ItemDetail | null;
  why(product: string): Why | null;
  /** The rows in quarantine, one stream after the other. */
  quarantine(filter: { source?: string | undefined }, page: ListPage): Listed<QuarantinedRecord>;
  /** Finds those of these records that are in quarantine. */
  quarantinedRows(records: readonly number[]): RowInQuarantine[];
  /**
   * The first rows in quarantine with `search` as a part of their key, or of the key of the product that they make or
   * belong to.
   */
  searchQuarantined(filter: { search: string; source?: string | undefined }): RowInQuarantine[];
  /** The causes, those that hold the most passports first. @param api the present troubles with the API */
  causes(filter: { source?: string | undefined; type?: CauseType | undefined }, api?: readonly ApiTrouble[]): Cause[];
  cause(id: string, api?: readonly ApiTrouble[]): Cause | null;
  /** The members of a cause, all or those with one value. An export that the guard holds, and the API, have none. */
  causeMembers(id: string, page: ListPage & { value?: string | undefined }): Listed<CauseMember>;
  /** What the held reads of a source are about, for each of them. */
  goneEffects(source: string): GoneEffect[];
  /** What is gone in a held read of a stream, page by page. */
  goneRows(asked: GoneRowsAsked): GoneRows;
  passports(filter: PassportFilter, page: ListPage): Listed<PassportRow>;
  passportCounts(filter: PassportFilter): Partial<Record<PassportState, number>>;
  /** What was done in the hours that begin in this span. */
  activity(span: { from: number; to: number }): Activity;
  /** What happened on the days from these on, without times after `to`. */
  history(asked: { passportsFrom: number; runsFrom: number; to: number }): History;
  /** The runs, the newest first. */
  runs(filter: RunFilter, page: ListPage): Listed<RunView>;
  /** The audit log, the newest first. */
  actions(page: ListPage): Listed<ActionRow>;
  /** Values of lookup tables that people have added. */
  lookupValues(): LookupValue[];
}
