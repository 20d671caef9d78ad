// Rows by which changes say that a record is gone.

import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { percentDecoded } from '../../lib/text/percent.ts';
import type { SourceRow } from '../connector.ts';
import { formatDocumentPath, valueAt } from '../document-path.ts';
import type { ChildRow } from './child-rows.ts';
import { textOf } from './placeholders.ts';
import { incomplete, type RestRead } from './read-pass.ts';
import { rowOf } from './rest-rows.ts';

/** True for a row that says that its record is gone. */
export function isGone({ stream }: RestRead, fields: JsonValue): boolean {
  const gone = stream.changes?.gone;
  if (gone === undefined || !isJsonObject(fields)) return false;
  const found = valueAt(fields, gone.at);
  if (found === undefined || NOT_GONE.test(textOf(found))) return false;
  return gone.contains === undefined || textOf(found).includes(gone.contains);
}

/** The same for a row of a pass. If a name is in it twice, the key or the sign may be another one, so it is no tombstone. */
export function isTombstone(read: RestRead, { fields, repeated }: Pick<ChildRow, 'fields' | 'repeated'>): boolean {
  return repeated === null && isGone(read, fields);
}

/** The values of a flag or a time of deletion of records that are there. */
const NOT_GONE = /^(?:null|false|0+(?:\.0+)?|)$/i;

/** @throws a `sourceFault` if a complete read has rows, and all of them say that their records are gone */
export function assertNotAllGone({ name, stream }: RestRead, { gone, there }: { gone: number; there: number }): void {
  const path = stream.changes?.gone?.at;
  if (gone === 0 || there > 0 || path === undefined) return;
  throw incomplete(
    `All ${gone} rows of ${name} have a value at ${formatDocumentPath(path)}, which says that their records are gone.`,
    'Correct `changes.gone.at` of the stream, or say with `contains` which values mean that a record is gone.',
  );
}

/** The tombstone that such a row stands for. It has the key columns only. */
export function goneRow(read: RestRead, fields: JsonValue): SourceRow {
  const gone = read.stream.changes?.gone;
  const key: JsonObject = {};
  for (const [column, path] of Object.entries(gone?.key ?? {})) {
    const value = valueAt(fields, path) ?? null;
    key[column] = gone?.entityId === true && typeof value === 'string' ? keyInEntityId(value, column) : value;
  }
  return { ...rowOf(read, { fields: key, lack: null, repeated: null }), isGone: true };
}

/**
 * The key in the address of an entity: `Items(5)`, `Items('A''B')`, `https://host/v2/Items(0f3a…)`, `Lines(Item='A',Position=10)`. A
 * text without parentheses is the key itself.
 */
function keyInEntityId(address: string, column: string): string {
  const [, predicate] = /\(([^/]*)\)$/.exec(address) ?? [];
  if (predicate === undefined) return address;
  const parts = [...percentDecoded(predicate).matchAll(/(?:(\w+)=)?(?:'((?:[^']|'')*)'|([^',]+))/g)];
  const [, , quoted, plain] = parts.find(([, name]) => name === column) ?? parts[0] ?? [];
  return quoted?.replaceAll("''", "'") ?? plain ?? address;
}
