import type { PeopleLedger, ValueByHand } from '../../domain/ports/ledger/people-ledger.ts';
import type { Lookups } from '../records/lookups.ts';
import type { LedgerContext } from '../store/context.ts';

type BeginAction = Parameters<PeopleLedger['beginAction']>[0];
type NoteCause = Parameters<PeopleLedger['noteCause']>[1];
type SetLookupValue = Parameters<PeopleLedger['setLookupValue']>[0];

/** Stores notes, values of lookup tables, and the audit log. Run each function as one transaction. */
export interface People {
  beginAction(action: BeginAction): number;
  endAction(id: number, outcome: string): void;
  noteCause(cause: string, note: NoteCause): void;
  /** Stores a value. Returns how many records wait for the mapping because of it. */
  setLookupValue(value: SetLookupValue): number;
  /** Ends the actions of a process that was killed. */
  endLeft(): void;
  valuesByHand(): ValueByHand[];
  removeLookupValue(lookup: string, key: string): number;
}

/**
 * The outcome of an action that its process did not finish. Its writes are in the ledger and are delivered without a
 * further action.
 */
const LEFT =
  'The process ended before this action was complete. dpp-sync continues the part that was stored. Look at what is left, and start the action again.';

export function createPeople(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  lookups: Pick<Lookups, 'setByHand'>,
): People {
  const sql = {
    begin: db.prepare<[{ at: number; who: string; via: string; action: string; detail: string }]>(
      'INSERT INTO actions (at, who, via, action, detail) VALUES (@at, @who, @via, @action, @detail)',
    ),
    end: db.prepare<[number, string, number]>('UPDATE actions SET ended_at = ?, outcome = ? WHERE id = ?'),
    endLeft: db.prepare<[number, string]>('UPDATE actions SET ended_at = ?, outcome = ? WHERE outcome IS NULL'),
    note: db.prepare<[NoteCause & { cause: string; at: number }]>(
      `INSERT INTO cause_notes (cause, text, owner, noted_by, noted_at) VALUES (@cause, @text, @owner, @by, @at)
       ON CONFLICT (cause) DO UPDATE SET text = @text, owner = @owner, noted_by = @by, noted_at = @at`,
    ),
    dropNote: db.prepare<[string]>('DELETE FROM cause_notes WHERE cause = ?'),
    setValue: db.prepare<[SetLookupValue & { at: number }]>(
      `INSERT INTO lookup_values (lookup, key, value, set_by, set_at) VALUES (@lookup, @key, @value, @by, @at)
       ON CONFLICT (lookup, key) DO UPDATE SET value = @value, set_by = @by, set_at = @at`,
    ),
    values: db.prepare<[], ValueByHand>('SELECT lookup, key, value FROM lookup_values'),
    removeValue: db.prepare<[string, string]>('DELETE FROM lookup_values WHERE lookup = ? AND key = ?'),
  };

  return {
    beginAction({ detail, ...action }) {
      const begun = sql.begin.run({ ...action, detail: JSON.stringify(detail), at: clock.now() });
      return Number(begun.lastInsertRowid);
    },
    endLeft: () => void sql.endLeft.run(clock.now(), LEFT),
    endAction: (id, outcome) => void sql.end.run(clock.now(), outcome, id),
    noteCause(cause, note) {
      if (note.text === '' && note.owner === '') sql.dropNote.run(cause);
      else sql.note.run({ cause, ...note, at: clock.now() });
    },
    valuesByHand: () => sql.values.all(),
    setLookupValue(value) {
      return lookups.setByHand(value, () => void sql.setValue.run({ ...value, at: clock.now() }));
    },
    removeLookupValue(lookup, key) {
      return lookups.setByHand({ lookup, key }, () => void sql.removeValue.run(lookup, key));
    },
  };
}
