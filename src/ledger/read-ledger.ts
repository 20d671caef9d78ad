import type { WireForms } from '../domain/delivery/wire-form.ts';
import type { PassportRules } from '../domain/passport.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import type { LedgerHolder } from './file/lock.ts';
import { readsHere } from './reads.ts';
import { readMeta } from './store/meta.ts';
import { assertPresentSchema, openToRead } from './upgrade/open.ts';

/**
 * Opens the ledger for reading only, beside a process that writes it. Null if there is no ledger yet.
 *
 * @throws Fault `ledger.restored` if a ledger was here and is gone, `ledger.linked`, `ledger.unreadable`, `ledger.newer` or
 *   `ledger.older`
 */
export function openLedgerReads(options: {
  file: string;
  passportRules: PassportRules;
  /** The forms in which the profile of this process sends items. */
  forms: WireForms;
}): { id: string; reads: Reads; close(): void } | null {
  const db = openToRead(options.file);
  if (!db) return null;
  assertPresentSchema(db, options.file);
  return {
    id: readMeta({ db }, 'id') ?? '',
    reads: readsHere({ db, passportRules: options.passportRules, wireForms: options.forms }),
    close: () => void db.close(),
  };
}

export function readHolder(file: string): LedgerHolder | null {
  const db = openToRead(file);
  if (!db) return null;
  try {
    const text = readMeta({ db }, 'holder');
    return text === null ? null : (JSON.parse(text) as LedgerHolder);
  } finally {
    db.close();
  }
}
