// Stages the items of mapped records.

import type { Issue } from '../../domain/issue.ts';
import { contentOf } from '../../domain/item.ts';
import { type BlockedProducts, type MappedItem, type MapResult, productsOf } from '../../domain/mapping.ts';
import { type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import { formatPlace, type Place } from '../../domain/place.ts';
import type { MappedRecord, StageSummary } from '../../domain/ports/intake.ts';
import { visibleText } from '../../lib/text/odd-character.ts';
import { shellValue } from '../../lib/text/shell-word.ts';
import { addCreates, type CreateCounts, countCreates } from '../contact/contact.ts';
import { KEPT_KEY, withKeptNaturalKey } from '../items/content.ts';
import type { DesiredItem } from '../items/desire.ts';
import { desireItem } from '../items/desire.ts';
import type { ItemRow } from '../items/item-row.ts';
import { createNameSet, findItem, itemsOfRecord } from '../items/item-row.ts';
import { reconcile } from '../items/reconcile.ts';
import { type ContestedPart, hasPart, resolveParts } from '../items/refs.ts';
import { disownItem, noteEvent } from '../items/revisions.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { parseJson } from '../store/tx.ts';
import { areUsesCurrent, storeUses } from './lookups.ts';
import { countRows, type RunCount } from './streams.ts';

/** The counts of staged deliveries, and the staged creates for first contact. */
export type Tally = Pick<StageSummary, 'due' | 'waiting' | 'blocked'> & { creates: CreateCounts };

interface StageOptions {
  again: boolean;
  renames?: boolean;
  tally: Tally;
}

/** The record whose items are staged. */
interface StagedRecord extends Pick<RecordRow, 'source' | 'missingSince'> {
  id: number;
  /** True if the record was never staged, so that it has no earlier items. */
  isNew: boolean;
}

export type RecordState = 'mapped' | 'excluded' | 'quarantined';

export const SELECT_RECORD = `SELECT r.version, r.state, s.source, r.run_id AS runId, r.stream_id AS streamId,
  CASE WHEN s.flags_missing = 1 THEN r.missing_since END AS missingSince
  FROM records r JOIN streams s ON s.id = r.stream_id WHERE r.id = +?`;

const SQL = {
  record: statement<[number], RecordRow>(SELECT_RECORD),
  // A record that stays in quarantine keeps the time at which it was quarantined.
  setState: statement<[{ id: number; state: RecordState; issues: string | null; partial: 0 | 1; now: number }]>(
    `UPDATE records SET state = @state, issues = @issues, partial = @partial, run_id = NULL,
       quarantined_at = iif(@state = 'quarantined', coalesce(quarantined_at, @now), NULL) WHERE id = @id`,
  ),
  addContender: statement<[string, string, number]>(
    'INSERT OR IGNORE INTO contenders (kind, key, record_id) VALUES (?, ?, ?)',
  ),
  dropContenders: statement<[number]>('DELETE FROM contenders WHERE record_id = ?'),
  addBlockedProduct: statement<[number, string | null]>('INSERT INTO holds (record_id, product_key) VALUES (?, ?)'),
  dropBlockedProducts: statement<[number]>('DELETE FROM holds WHERE record_id = ?'),
  // Other records that make this item are mapped again, because they may now make it or conflict with it.
  requeueContenders: statement<[string, string, number]>(
    `UPDATE records SET state = 'pending', version = version + 1
     WHERE id IN (SELECT record_id FROM contenders WHERE kind = ? AND key = ?) AND id <> ?
       AND state IN ('mapped', 'quarantined')`,
  ),
  owner: statement<
    [number],
    { place: string; missing: 0 | 1; lost: 0 | 1; hasNoKey: 0 | 1; source: string; stream: string }
  >(
    `SELECT r.place, r.missing_since IS NOT NULL AS missing, s.source, s.name AS stream,
       EXISTS (SELECT 1 FROM lost_records l WHERE l.record_id = r.id) AS lost,
       coalesce(s.identity ->> 'by' = 'mappings', 0) AS hasNoKey
     FROM records r JOIN streams s ON s.id = r.stream_id WHERE r.id = ?`,
  ),
  streamOf: statement<[number], { source: string; stream: string }>(
    'SELECT s.source, s.name AS stream FROM records r JOIN streams s ON s.id = r.stream_id WHERE r.id = ?',
  ),
  hasEvent: column<[number, string], number>('SELECT 1 FROM events WHERE item_id = ? AND type = ? LIMIT 1'),
  // If an item is missing, another item may have its natural key.
  namesake: statement<[string, string, string], { key: string; recordId: number; place: string }>(
    `SELECT i.key, i.record_id AS recordId, r.place FROM items i JOIN records r ON r.id = i.record_id
     WHERE i.kind = +? AND i.natural_key = +? AND i.key <> +? AND r.missing_since IS NULL ORDER BY i.id LIMIT 1`,
  ),
};

/**
 * Stages one record in any state, and returns its new state. With `again`, its stuck deliveries are sent again too. With
 * `renames`, its items take the natural keys of the source: see `compareContenders`.
 */
export function stageRecord(
  tx: Tx,
  record: StagedRecord,
  result: MappedRecord['result'],
  { again, renames = false, tally }: StageOptions,
): RecordState {
  const { id: recordId, isNew } = record;
  if (!isNew) {
    SQL.dropBlockedProducts(tx).run(recordId);
    SQL.dropContenders(tx).run(recordId);
  }
  storeUses(tx, recordId, result.uses, isNew);
  const reported = result.status === 'quarantined' ? result.issues : [];
  if (reported.length > 0 && !isPartial(result)) return quarantine(tx, recordId, reported, blockedBy(result));
  const { mapped, ...parts } = withParts(tx, itemsIn(result), recordId);
  const { issues, contested, own } = compareContenders(tx, mapped, recordId, { renames });
  for (const { kind, key } of [...parts.contested, ...contested]) SQL.addContender(tx).run(kind, key, recordId);
  const found = [...parts.issues, ...issues];
  if (found.length > 0) return quarantine(tx, recordId, [...reported, ...found], productsOf(mapped));
  // It is unknown which of the record's earlier items a failed mapping would make, so all of them count as present.
  if (!isNew && reported.length === 0) releaseBut(tx, own, recordId);
  if (!isNew && reported.length > 0) for (const item of itemsOfRecord(tx, recordId)) reconcile(tx, item.id);
  for (const one of own) {
    const staged = desireItem(tx, one, record, again);
    const { item, content, known } = one;
    if (staged) tally[staged] += 1;
    const isCreate = staged === 'due' && (known === undefined || known.acknowledged === 0);
    if (isCreate && item.kind !== 'bom_item') addCreates(tally.creates, record.source, item.kind);
    if (known && known.desiredHash !== content.hash) SQL.requeueContenders(tx).run(item.kind, item.key, recordId);
  }
  const why = reported.length > 0 ? JSON.stringify(reported) : null;
  setState(tx, recordId, result.status, { issues: why, partial: why === null ? 0 : 1 });
  return result.status;
}

export function stageRecords(tx: Tx, records: readonly MappedRecord[]): StageSummary {
  const summary: StageSummary = { mapped: 0, excluded: 0, quarantined: 0, due: 0, waiting: 0, blocked: 0 };
  const counts = createCounts();
  const creates: CreateCounts = new Map();
  const tally = { due: 0, waiting: 0, blocked: 0, creates };
  for (const { id, version, result } of records) {
    const row = SQL.record(tx).get(id);
    // A result is staged only if its record has not changed since it was mapped, so a late job with an older result
    // changes nothing.
    if (!row || row.version !== version || row.state !== 'pending') continue;
    // A lookup entry has changed since the mapping used it, so the record waits for another mapping.
    if (!areUsesCurrent(tx, result.uses)) continue;
    // Every change that makes a record wait for the mapping again raises its version.
    const { source, missingSince } = row;
    const record = { id, source, missingSince, isNew: version === 1 };
    const state = stageRecord(tx, record, result, { again: false, tally });
    summary[state] += 1;
    if (row.runId !== null) counts.of(row.runId, row.streamId)[state] += 1;
  }
  for (const count of counts.all()) countRows(tx, count);
  countCreates(tx, creates);
  const { due, waiting, blocked } = tally;
  return { ...summary, due, waiting, blocked };
}

function setState(tx: Tx, id: number, state: RecordState, why: { issues: string | null; partial: 0 | 1 }): void {
  SQL.setState(tx).run({ id, state, ...why, now: tx.clock.now() });
}

function releaseItem(tx: Tx, item: ItemRow & { recordId: number }, recordId: number): void {
  disownItem(tx, item);
  SQL.requeueContenders(tx).run(item.kind, item.key, recordId);
}

/** Releases the items that the record made before and no longer makes. */
function releaseBut(tx: Tx, own: readonly DesiredItem[], recordId: number): void {
  const kept = new Set(own.map(({ item }) => `${item.kind}/${item.key}`));
  for (const before of itemsOfRecord(tx, recordId)) {
    if (!kept.has(`${before.kind}/${before.key}`)) releaseItem(tx, before, recordId);
  }
}

function quarantine(tx: Tx, recordId: number, issues: readonly Issue[], blockedProducts: BlockedProducts): RecordState {
  for (const productKey of blockedProducts) SQL.addBlockedProduct(tx).run(recordId, productKey);
  // The record's earlier items count as present, so that a typing error does not take a product away.
  setState(tx, recordId, 'quarantined', { issues: JSON.stringify(issues), partial: 0 });
  // I4: a restored ledger does not know the content of these items at the API, so they are written again.
  for (const item of itemsOfRecord(tx, recordId)) reconcile(tx, item.id);
  return 'quarantined';
}

/** Decides of which kind the parts of BOM items are, and finds the parts that may be of two kinds. */
function withParts(tx: Tx, made: readonly MappedItem[], recordId: number) {
  const issues: Issue[] = [];
  const contested: ContestedPart[] = [];
  const names = createNameSet();
  for (const item of made) names.add(item);
  const isMade = (name: ContestedPart) => names.has(name);
  const mapped = made.map((item): MappedItem => {
    if (!hasPart(item)) return item;
    const resolved = resolveParts(tx, item, { recordId, known: findItem(tx, item.kind, item.key), isMade });
    issues.push(...resolved.issues);
    contested.push(...resolved.contested);
    return { ...resolved.item, mapping: item.mapping };
  });
  return { mapped, issues, contested };
}

/** The items of a result that are used. */
export function itemsIn(result: MapResult): readonly MappedItem[] {
  return result.status === 'excluded' ? [] : (result.items ?? []);
}

/** True for a quarantined record whose sound items are used nevertheless. */
export function isPartial(result: MapResult): boolean {
  return result.status === 'quarantined' && result.items !== undefined;
}

function blockedBy(result: MapResult): BlockedProducts {
  return result.status === 'quarantined' ? result.blockedProducts : [];
}

/** The number of records by their new state, for each run and stream. */
function createCounts(): { of(runId: number, streamId: number): RunCount; all(): Iterable<RunCount> } {
  const counts = new Map<string, RunCount>();
  return {
    of(runId, streamId) {
      const name = `${runId}/${streamId}`;
      const count = counts.get(name) ?? {
        runId,
        streamId,
        read: 0,
        unchanged: 0,
        mapped: 0,
        excluded: 0,
        quarantined: 0,
      };
      counts.set(name, count);
      return count;
    },
    all: () => counts.values(),
  };
}

/** A record that is about to be staged. */
export interface RecordRow {
  version: number;
  state: string;
  source: string;
  /** The run that counts the record; null if it was counted already. */
  runId: number | null;
  streamId: number;
  /**
   * Since when the record's items are missing. If a record is missing before it was mapped, its items are missing from
   * the beginning.
   */
  missingSince: number | null;
}

type ItemName = Pick<MappedItem, 'kind' | 'key'>;

/** The items that a record asks for, in groups: those that it may make, and the others. */
interface Contested {
  /** Why the record goes to quarantine; empty if it can be staged. */
  issues: Issue[];
  /** Items that another record already makes, with the same content or with other content. */
  contested: ItemName[];
  /** The items that this record makes. */
  own: DesiredItem[];
}

/** The record that already makes an item. */
interface Owner {
  place: Place;
  source: string;
  stream: string;
  /** True if the guard holds the last read of its stream, and this read does not have its row. */
  isLost: boolean;
  /** True if the stream has no key columns in the config. */
  hasNoKey: boolean;
}

/**
 * What to do about two rows that make an item with different values. Rows of two sources may be the same export, read under
 * a former and a present id of its source.
 */
function conflictCure(owner: Owner, own: { source: string; stream: string } | undefined): string {
  const values = 'Give both rows the same values, remove one of them, or give them different keys.';
  if (owner.source !== own?.source) {
    return `${values} If the config has given the source ${owner.source} another id, give it its former id again.`;
  }
  const accept = `accept the export: dpp-sync sync --accept ${shellValue(owner.source)}`;
  if (!owner.hasNoKey || owner.stream !== own.stream) {
    return owner.isLost ? `If the former row is rightly gone, ${accept}` : values;
  }
  const key = 'Name the columns that identify a row in `key` of the stream.';
  return owner.isLost
    ? `${key} Or ${accept}`
    : `${key} If two rows still make the same item then, give both the same values, remove one of them, or give them different keys.`;
}

function conflictMessage(name: string, { place, source, stream, isLost }: Owner): string {
  const from = `${formatPlace(place)}, stream ${stream} of the source ${source}`;
  return isLost
    ? `The ${name} comes from a row of an earlier export, ${from}. The guard holds the present export, which does not have that row. So the values of the earlier row stay.`
    : `Another row makes the ${name} with other values: ${from}. Only the values of that row are sent.`;
}

/**
 * Compares the items that a record asks for with the items of other records. With `renames`, an item does not keep the
 * natural key under which the platform knows it: see `withKeptNaturalKey`.
 */
function compareContenders(
  tx: Tx,
  mapped: readonly MappedItem[],
  recordId: number,
  { renames }: { renames: boolean },
): Contested {
  const issues: Issue[] = [];
  const contested: ItemName[] = [];
  const own: DesiredItem[] = [];
  const seen = new Set<string>();
  for (const made of mapped) {
    const name = `${made.kind} ${JSON.stringify(made.key)}`;
    if (seen.has(name)) {
      issues.push({
        code: 'claim.twice',
        field: 'key',
        value: made.key,
        message: `The row makes the ${name} twice.`,
      });
      continue;
    }
    seen.add(name);
    const known = findItem(tx, made.kind, made.key);
    const { item, keeps } = renames ? { item: made, keeps: null } : withKeptNaturalKey(tx.profile, made, known);
    const content = contentOf(item);
    const other = ownerOf(tx, known, recordId);
    if (other) contested.push(item);
    if (other && known?.desiredHash !== content.hash) {
      issues.push({
        code: 'claim.conflict',
        field: 'key',
        value: item.key,
        message: conflictMessage(name, other),
        cure: conflictCure(other, SQL.streamOf(tx).get(recordId)),
        other: other.place,
      });
    } else if (!other) {
      const naturalKey = naturalKeyOf(tx.profile, item.kind, item.payload);
      own.push({ item, content, naturalKey, known });
      if (known !== undefined && keeps !== null) noteKept(tx, known, keeps);
      const taken = naturalKey && naturalKeyTaken(tx, item, naturalKey, { id: recordId, mapped });
      if (!taken) continue;
      contested.push({ kind: item.kind, key: taken.by });
      issues.push(taken.issue);
    }
  }
  return { issues, contested, own };
}

/** Notes once in the history of an item that it keeps a natural key which the source does not give any more. */
function noteKept(tx: Tx, { id, kind, key }: ItemRow, naturalKey: string): void {
  if (SQL.hasEvent(tx).get(id, KEPT_KEY) !== undefined) return;
  noteEvent(tx, id, null, KEPT_KEY, {
    message: `The platform knows this ${kind} as "${visibleText(naturalKey)}", with characters around its key that nobody can see. It keeps this key, because another key may make a second ${kind}. To change it, change it at the platform by hand, and run \`dpp-sync replay --key ${shellValue(key)}\`.`,
  });
}

/** The other record that makes the item already; null if there is none. */
function ownerOf(tx: Tx, known: ItemRow | undefined, recordId: number): Owner | null {
  if (!known || known.recordId === null || known.recordId === recordId) return null;
  const owner = SQL.owner(tx).get(known.recordId);
  if (!owner || owner.missing === 1) return null;
  const { place, lost, hasNoKey, source, stream } = owner;
  return { place: parseJson<Place>(place), source, stream, isLost: lost === 1, hasNoKey: hasNoKey === 1 };
}

/** The key of another item with the same natural key, and the issue that reports it; null if there is none. */
function naturalKeyTaken(
  tx: Tx,
  item: MappedItem,
  { field, value }: NaturalKey,
  record: { id: number; mapped: readonly MappedItem[] },
): { by: string; issue: Issue } | null {
  const other = SQL.namesake(tx).get(item.kind, value, item.key);
  if (!other) return null;
  const place = parseJson<Place>(other.place);
  const isMappedStill = record.mapped.some(({ kind, key }) => kind === item.kind && key === other.key);
  const hasNewKey = other.recordId === record.id && !isMappedStill;
  const cure = hasNewKey
    ? `This record has made the ${item.kind} under that key, and the mapping gives another key now. A ${item.kind} keeps the key under which it was delivered, so put \`key\` of the mapping back.`
    : `Give each ${item.kind} a ${field} of its own.`;
  const issue: Issue = {
    code: 'natural_key.taken',
    field,
    value,
    message: `The API knows a ${item.kind} by its ${field}, and ${JSON.stringify(value)} belongs to the ${item.kind} with the key ${JSON.stringify(other.key)} (${formatPlace(place)}) already.`,
    cure,
    other: place,
  };
  return { by: other.key, issue };
}
