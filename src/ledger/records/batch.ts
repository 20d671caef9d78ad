// A batch of records: reads what the ledger has of their items, and decides in plain code what they make of it.
//
// A record is decided against what the ledger had when the batch began and what earlier records of the batch have decided. A record
// whose decision depends on something that the batch changes, or that changes what the batch has used, begins the next batch. So
// pages of any size lead to the same ledger.

import type { Issue, Place } from '../../domain/issue.ts';
import { contentOf, type Item } from '../../domain/item.ts';
import { type Blocked, type MappedItem, type MapResult, materialsOf, productsOf } from '../../domain/mapping.ts';
import { type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import { withKeptNaturalKey } from '../items/content.ts';
import type { OwnedDesire } from '../items/desire.ts';
import { createNameSet, findItems, type ItemName, type ItemRow, itemsOfRecords, nameOf } from '../items/item-row.ts';
import type { KeptKey } from '../items/item-writes.ts';
import { findParts, hasPart, resolveParts } from '../items/refs.ts';
import { parseJson, statement, type Tx } from '../store/tx.ts';
import {
  conflictCure,
  conflictMessage,
  type Namesake,
  type Owner,
  type RecordOrigin,
  takenIssue,
} from './conflicts.ts';

type RecordState = 'mapped' | 'excluded' | 'quarantined';

/** A record whose items are staged. */
export interface RecordToStage extends RecordOrigin {
  id: number;
  /** Since when the items of a missing record are missing. */
  missingSince: number | null;
  /** True if the record was never staged, so that it has no earlier items. */
  isNew: boolean;
  /** True if the record was missing until now, so that its items are present again. */
  isBack?: boolean;
  /** True if the stored place stays as it is, because it is not shown. */
  keepsPlace?: boolean;
  /** Null for a record that waits to be mapped. */
  result: MapResult | null;
}

/** The new state of a record. */
export interface StagedState {
  state: RecordState;
  /** Why the record is in quarantine. */
  issues: readonly Issue[];
  /** True for a quarantined record whose sound items are used nevertheless. */
  partial: boolean;
}

/** What is decided about one record, before it is stored. */
export interface Decision<R extends RecordToStage> {
  record: R;
  to: StagedState | null;
  /** Items that another record makes already. The record is mapped again if they change. */
  contested: ItemName[];
  /** What waits for the record. */
  holds: Blocked;
  desires: OwnedDesire[];
  /** Items that the record made before and no longer makes. */
  released: OwnedRow[];
  /** Items of the record that stay as they are, although its mapping has failed. */
  kept: ItemRow[];
  keptKeys: KeptKey[];
}

type OwnedRow = ItemRow & { recordId: number };

interface NamesakeRow {
  kind: MappedItem['kind'];
  naturalKey: string;
  key: string;
  recordId: number;
  missing: 0 | 1;
  place: string;
}

interface OwnerRow {
  id: number;
  source: string;
  stream: string;
  place: string;
  hasNoKey: 0 | 1;
  lost: 0 | 1;
}

const NOTHING_HELD: Blocked = { products: [], materials: [] };

const SQL = {
  owners: statement<[string], OwnerRow>(
    `SELECT r.id, r.place, s.source, s.name AS stream, coalesce(s.identity ->> 'by' = 'mappings', FALSE) AS hasNoKey,
       EXISTS (SELECT 1 FROM lost_records l WHERE l.record_id = r.id) AS lost
     FROM json_each(?) k CROSS JOIN records r ON r.id = k.value JOIN streams s ON s.id = r.stream_id
     WHERE r.missing_since IS NULL`,
  ),
  // If an item is missing, another item may have its natural key.
  namesakes: statement<[string], NamesakeRow>(
    `SELECT i.kind, i.natural_key AS naturalKey, i.key, i.record_id AS recordId, r.missing_since IS NOT NULL AS missing, r.place
     FROM json_each(?) n CROSS JOIN items i ON i.kind = n.value ->> 0 AND i.natural_key = n.value ->> 1 AND i.key <> n.value ->> 2
     CROSS JOIN records r ON r.id = i.record_id ORDER BY i.id`,
  ),
  formerParts: statement<[string], { recordId: number; key: string }>(
    `SELECT i.record_id AS recordId, f.key FROM json_each(?) k CROSS JOIN items i ON i.record_id = k.value
     CROSS JOIN refs f ON f.item_id = i.id AND f.either = 1`,
  ),
  contested: statement<[string], ItemName & { recordId: number }>(
    `SELECT c.kind, c.key, c.record_id AS recordId FROM json_each(?) k CROSS JOIN contenders c ON c.record_id = k.value`,
  ),
};

/** Begins a batch. It may take these records, in this order. */
export function openBatch<R extends RecordToStage>(tx: Tx, given: readonly R[], { renames }: { renames: boolean }) {
  const ledger = readFor(tx, given);
  const decided: Decision<R>[] = [];
  /** Items that the batch adds, with the records that make them, and their natural keys. */
  const made = new Map<string, { record: R; hash: string }>();
  const madeNaturally = new Map<string, Namesake>();
  /** The present places of the records of the batch. */
  const places = new Map<number, Place>();
  /** Items, natural keys and parts whose meaning the batch changes. A record that asks for one of them begins the next batch. */
  const changed = { items: new Set<string>(), naturalKeys: new Set<string>(), parts: new Set<string>() };
  /** Items that a record of the batch has found to be made by others, and parts that it has looked up. */
  const asked = new Set<string>();

  /** The other record that makes an item already; null if there is none. */
  function ownerOf(record: R, name: string, known: ItemRow | undefined): (Owner & { hash: string | undefined }) | null {
    const byBatch = made.get(name);
    if (byBatch !== undefined) {
      const { record: owner, hash } = byBatch;
      return { ...owner, isLost: ledger.owners.get(owner.id)?.isLost ?? false, hash };
    }
    if (known === undefined || known.recordId === null || known.recordId === record.id) return null;
    const owner = ledger.owners.get(known.recordId);
    if (owner === undefined) return null;
    return { ...owner, place: places.get(known.recordId) ?? owner.place, hash: known.desiredHash };
  }

  /** The other item with the natural key of an item; undefined if there is none. */
  function namesakeOf(record: R, { kind, key }: MappedItem, { value }: NaturalKey): Namesake | undefined {
    const name = naturalName(kind, value);
    const isPresent = (one: Namesake) => !one.isMissing || (record.isBack === true && one.recordId === record.id);
    const other = ledger.namesakes.get(name)?.find((one) => one.key !== key && isPresent(one));
    const added = madeNaturally.get(name);
    if (other !== undefined) return { ...other, place: places.get(other.recordId) ?? other.place };
    return added?.key === key ? undefined : added;
  }

  /** Decides of which kind the parts of BOM items are, and finds the parts that may be of two kinds. */
  function withParts(record: R) {
    const issues: Issue[] = [];
    const contested: ItemName[] = [];
    const names = createNameSet();
    const items = itemsIn(record.result);
    for (const item of items) names.add(item);
    const isMade = (name: ItemName) => names.has(name);
    const mapped = items.map((item): MappedItem => {
      if (!hasPart(item)) return item;
      const of = { recordId: record.id, known: ledger.items.get(nameOf(item)), isMade };
      const resolved = resolveParts(ledger.parts, item, of);
      issues.push(...resolved.issues);
      contested.push(...resolved.contested);
      return { ...resolved.item, mapping: item.mapping };
    });
    return { mapped, issues, contested };
  }

  /** Compares the items that a record asks for with the items of other records. */
  function compare(record: R, mapped: readonly MappedItem[]) {
    const issues: Issue[] = [];
    const contested: ItemName[] = [];
    const desires: OwnedDesire[] = [];
    const keptKeys: KeptKey[] = [];
    const seen = new Set<string>();
    const { id, source, missingSince } = record;
    for (const asks of mapped) {
      const name = nameOf(asks);
      const title = `${asks.kind} ${JSON.stringify(asks.key)}`;
      if (seen.has(name)) {
        const message = `The row makes the ${title} twice.`;
        issues.push({ code: 'claim.twice', field: 'key', value: asks.key, message });
        continue;
      }
      seen.add(name);
      const known = ledger.items.get(name);
      const { item, keeps } = renames ? { item: asks, keeps: null } : withKeptNaturalKey(tx.profile, asks, known);
      const content = contentOf(item);
      const other = ownerOf(record, name, known);
      if (other !== null) {
        contested.push(item);
        if (other.hash === content.hash) continue;
        const message = conflictMessage(title, other);
        const cure = conflictCure(other, record);
        issues.push({ code: 'claim.conflict', field: 'key', value: item.key, message, cure, other: other.place });
        continue;
      }
      const naturalKey = ledger.naturalKeyOf(item);
      desires.push({ item, content, naturalKey, known, owner: { id, source, missingSince } });
      if (known !== undefined && keeps !== null) keptKeys.push({ item: known, naturalKey: keeps });
      const namesake = naturalKey && namesakeOf(record, item, naturalKey);
      if (!naturalKey || !namesake) continue;
      contested.push({ kind: item.kind, key: namesake.key });
      const isMappedStill = mapped.some(({ kind, key }) => kind === item.kind && key === namesake.key);
      issues.push(takenIssue(item, naturalKey, namesake, namesake.recordId === id && !isMappedStill));
    }
    return { issues, contested, desires, keptKeys };
  }

  function decide(record: R): Decision<R> {
    const { result } = record;
    const none = { contested: [], holds: NOTHING_HELD, desires: [], released: [], kept: [], keptKeys: [] };
    if (result === null) return { ...none, record, to: null };
    const former = ledger.ofRecord.get(record.id) ?? [];
    const reported = result.status === 'quarantined' ? result.issues : [];
    const quarantined = (issues: readonly Issue[], holds: Blocked) => {
      // The record's earlier items count as present, so that a typing error does not take a product away.
      // I4: a restored ledger does not know the content of these items at the API, so they are written again.
      return { ...none, record, to: { state: 'quarantined' as const, issues, partial: false }, holds, kept: former };
    };
    if (result.status === 'quarantined' && result.issues.length > 0 && result.items === undefined) {
      return quarantined(reported, { products: result.blockedProducts, materials: result.blockedMaterials ?? [] });
    }
    const { mapped, ...parts } = withParts(record);
    const { issues, contested: others, desires, keptKeys } = compare(record, mapped);
    const contested = [...parts.contested, ...others];
    const found = [...parts.issues, ...issues];
    if (found.length > 0) {
      const holds = { products: productsOf(mapped), materials: materialsOf(mapped) };
      return { ...quarantined([...reported, ...found], holds), contested, keptKeys };
    }
    const own = former.length === 0 ? null : new Set(desires.map(({ item }) => nameOf(item)));
    const rest = own === null ? [] : former.filter((item) => !own.has(nameOf(item)));
    // It is unknown which of the record's earlier items a failed mapping would make, so all of them count as present.
    const [released, kept] = reported.length === 0 ? [rest, []] : [[], rest];
    const to = { state: result.status, issues: reported, partial: reported.length > 0 };
    return { record, to, contested, holds: NOTHING_HELD, desires, released, kept, keptKeys };
  }

  /** True if what is known of a record's items may have changed since the batch began. */
  function isOutdated(record: R): boolean {
    const asks = itemsIn(record.result);
    const isChanged = (name: ItemName) => changed.items.has(nameOf(name));
    return (
      (changed.items.size > 0 &&
        (asks.some(isChanged) ||
          ledger.ofRecord.get(record.id)?.some(isChanged) === true ||
          ledger.contested.get(record.id)?.some(isChanged) === true)) ||
      (changed.naturalKeys.size > 0 &&
        asks.some((item) => {
          const key = ledger.naturalKeyOf(item);
          return key !== null && changed.naturalKeys.has(naturalName(item.kind, key.value));
        })) ||
      (changed.parts.size > 0 && partsOf(record).some((part) => changed.parts.has(part)))
    );
  }

  /** The parts that the record has or had without a kind, as names. */
  function partsOf(record: R): string[] {
    const parts = (ledger.formerParts.get(record.id) ?? []).map(({ key }) => partName(key));
    for (const { refs } of itemsIn(record.result)) {
      for (const { either, key } of refs) if (either === true) parts.push(partName(key));
    }
    return parts;
  }

  /** Adds what is decided to the batch; false if it changes what an earlier record of the batch has found. */
  function add(decision: Decision<R>): boolean {
    const { record, desires, released, contested } = decision;
    if (asked.size > 0 && changesAsked(decision)) return false;
    for (const item of contested) asked.add(nameOf(item));
    for (const part of partsOf(record)) asked.add(part);
    for (const { item, known, content, naturalKey } of desires) {
      if (known === undefined) addNew(record, item, content.hash, naturalKey);
      else if (!isSame(known, record, content.hash, naturalKey)) {
        alter(known);
        if (naturalKey !== null) changed.naturalKeys.add(naturalName(known.kind, naturalKey.value));
      }
    }
    for (const item of released) alter(item);
    if (record.isBack === true) for (const item of ledger.ofRecord.get(record.id) ?? []) alter(item);
    if (record.keepsPlace !== true) places.set(record.id, record.place);
    decided.push(decision);
    return true;
  }

  function changesAsked({ desires, released }: Decision<R>): boolean {
    return (
      released.some((item) => asked.has(nameOf(item))) ||
      desires.some(({ item, known, content }) => {
        if (known === undefined) return asked.has(partName(item.key));
        return known.desiredHash !== content.hash && asked.has(nameOf(known));
      })
    );
  }

  function addNew(record: R, item: Item, hash: string, naturalKey: NaturalKey | null): void {
    made.set(nameOf(item), { record, hash });
    if (item.kind !== 'bom_item') changed.parts.add(partName(item.key));
    if (naturalKey === null) return;
    const name = naturalName(item.kind, naturalKey.value);
    if (madeNaturally.has(name)) return;
    madeNaturally.set(name, { key: item.key, recordId: record.id, isMissing: false, place: record.place });
  }

  function alter({ kind, key, naturalKey }: ItemRow): void {
    changed.items.add(nameOf({ kind, key }));
    if (kind !== 'bom_item') changed.parts.add(partName(key));
    if (naturalKey !== null) changed.naturalKeys.add(naturalName(kind, naturalKey));
  }

  return {
    /** False if the record has to be the first one of the next batch. */
    take: (record: R): boolean => !isOutdated(record) && add(decide(record)),
    decided,
  };
}

/** What the ledger has of the items that these records make or have made. */
function readFor<R extends RecordToStage>(tx: Tx, given: readonly R[]) {
  const stored = given.filter(({ isNew }) => !isNew);
  const staged = given.filter(({ result }) => result !== null);
  const asked = staged.flatMap(({ id, result }) => itemsIn(result).map((item) => ({ id, item })));
  const mapped = asked.map(({ item }) => item);
  const items = findItems(tx, mapped);
  const naturalKeyIn = ({ kind, payload }: MappedItem) => naturalKeyOf(tx.profile, kind, payload);
  const naturalKeys = new Map(mapped.map((item) => [item, naturalKeyIn(item)] as const));
  const former = stored.filter(({ result, isBack }) => result !== null || isBack === true).map(({ id }) => id);
  const ofRecord = Map.groupBy(itemsOfRecords(tx, former), ({ recordId }) => recordId);
  // The items of a record that is back are present again.
  const back = new Set(stored.flatMap(({ id, isBack }) => (isBack === true ? [id] : [])));
  if (back.size > 0) {
    for (const row of [...items.values(), ...[...ofRecord.values()].flat()])
      if (row.recordId !== null && back.has(row.recordId)) row.missingSince = null;
  }
  const ids = JSON.stringify(stored.map(({ id }) => id));
  const hasStored = stored.length > 0;
  return {
    items,
    ofRecord,
    naturalKeyOf: (item: MappedItem) => naturalKeys.get(item) ?? naturalKeyIn(item),
    namesakes: namesakesOf(tx, naturalKeys),
    owners: ownersOf(tx, asked, items),
    contested: Map.groupBy(hasStored ? SQL.contested(tx).all(ids) : [], ({ recordId }) => recordId),
    formerParts: Map.groupBy(hasStored ? SQL.formerParts(tx).all(ids) : [], ({ recordId }) => recordId),
    parts: findParts(
      tx,
      mapped.map((item) => ({ item, known: items.get(nameOf(item)) })),
    ),
  };
}

type Asked = { id: number; item: MappedItem };

function namesakesOf(tx: Tx, naturalKeys: ReadonlyMap<MappedItem, NaturalKey | null>): Map<string, Namesake[]> {
  const wanted = [...naturalKeys].flatMap(([{ kind, key }, naturalKey]) =>
    naturalKey === null ? [] : [[kind, naturalKey.value, key]],
  );
  const rows = wanted.length === 0 ? [] : SQL.namesakes(tx).all(JSON.stringify(wanted));
  const found = rows.map(({ kind, naturalKey, missing, place, ...row }) => ({
    ...row,
    name: naturalName(kind, naturalKey),
    isMissing: missing === 1,
    place: parseJson<Place>(place),
  }));
  return Map.groupBy(found, ({ name }) => name);
}

/** The records that make some of these items, and that are not missing. Only an item that several records ask for needs them. */
function ownersOf(tx: Tx, asked: readonly Asked[], items: ReadonlyMap<string, ItemRow>): Map<number, Owner> {
  const askers = Map.groupBy(asked, ({ item }) => nameOf(item));
  const ids = [...askers].flatMap(([name, by]) => {
    const owner = items.get(name)?.recordId ?? null;
    const own = by.map(({ id }) => id);
    return owner === null ? (by.length > 1 ? own : []) : own.every((id) => id === owner) ? [] : [owner, ...own];
  });
  if (ids.length === 0) return new Map();
  const rows = SQL.owners(tx).all(JSON.stringify([...new Set(ids)]));
  return new Map(
    rows.map(({ id, source, stream, place, lost, hasNoKey }) => [
      id,
      { source, stream, place: parseJson<Place>(place), isLost: lost === 1, hasNoKey: hasNoKey === 1 },
    ]),
  );
}

const naturalName = (kind: string, value: string): string => `${kind} ${value}`;
const partName = (key: string): string => `part ${key}`;

/** True if the record has made the item with the same content, so that nothing changes for it. */
function isSame(known: ItemRow, { id, missingSince }: RecordToStage, hash: string, key: NaturalKey | null): boolean {
  return (
    known.desiredHash === hash &&
    known.naturalKey === (key?.value ?? null) &&
    known.recordId === id &&
    known.missingSince === missingSince
  );
}

/** The items of a result that are used. */
function itemsIn(result: MapResult | null): readonly MappedItem[] {
  return result === null || result.status === 'excluded' ? [] : (result.items ?? []);
}
