// The parts of a page of changes. In a page of changes the order of the rows counts: a later row of a record replaces an earlier
// one, and a tombstone says that the record is gone until a later row brings it back.

import type { SourceRow } from '../domain/ports/source.ts';
import { type IncomingRecord, identityOf, type KeyOf } from '../domain/record.ts';
import { incomingRecord } from './incoming-record.ts';

/** A part of a page. Records with the identities in `gone` are gone before the rows of the part are stored. */
export interface PagePart {
  gone: ReadonlySet<string>;
  records: readonly IncomingRecord[];
}

interface Rows {
  key: readonly string[];
  omitted: ReadonlySet<string>;
  keyOf: KeyOf | null;
}

/** Splits a page of changes where one part could not keep the order of the rows of a record. */
export function partsOfChanges(rows: readonly SourceRow[], { key, omitted, keyOf }: Rows): PagePart[] {
  const begin = () => ({ gone: new Set<string>(), records: [] as IncomingRecord[], present: new Set<string>() });
  const parts = [begin()];
  const partFor = (identity: string) => {
    const last = parts.at(-1);
    if (last !== undefined && !last.present.has(identity)) return last;
    const next = begin();
    parts.push(next);
    return next;
  };
  for (const row of rows) {
    const gone = identityOfGone(row, key);
    if (gone !== null) {
      partFor(gone).gone.add(gone);
      continue;
    }
    const record = incomingRecord(row, key, omitted, keyOf);
    const part = partFor(record.identity);
    part.records.push(record);
    part.present.add(record.identity);
  }
  return parts;
}

/**
 * The identity of the record that a tombstone means; null for any other row. A tombstone that has no usable key, or in which the
 * connector has found an issue, is stored as a row in quarantine.
 */
function identityOfGone({ isGone, issues = [], fields }: SourceRow, key: readonly string[]): string | null {
  return isGone === true && issues.length === 0 ? identityOf(fields, key) : null;
}

/** The identities of the records that are gone after the page. */
export function goneAfter(parts: readonly PagePart[]): string[] {
  const gone = new Set<string>();
  for (const { gone: identities, records } of parts) {
    for (const identity of identities) gone.add(identity);
    if (gone.size > 0) for (const { identity } of records) gone.delete(identity);
  }
  return [...gone];
}
