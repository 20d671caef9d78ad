import type { Issue } from '../../domain/issue.ts';
import { contentOf } from '../../domain/item.ts';
import type { MappedItem } from '../../domain/mapping.ts';
import { type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import { formatPlace, type Place } from '../../domain/place.ts';
import { visibleText } from '../../lib/text/odd-character.ts';
import { shellValue } from '../../lib/text/shell-word.ts';
import type { DesiredItem } from '../items/desired-item.ts';
import type { ItemRow } from '../items/item-row.ts';
import { findItem, noteEvent } from '../items/items.ts';
import { KEPT_KEY, withKeptNaturalKey } from '../items/kept-natural-key.ts';
import { parseJson } from '../store/context.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

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

const SQL = {
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
 * Compares the items that a record asks for with the items of other records. With `renames`, an item does not keep the
 * natural key under which the platform knows it: see `withKeptNaturalKey`.
 */
export function compareContenders(
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
