// Stores tasks, notes, values of lookup tables, passwords, and the audit log.

import type { OwnPassword, PeopleLedger, StoredTask, ValueByHand } from '../../domain/ports/ledger/care-ledger.ts';
import { changeByHand } from '../records/lookups.ts';
import { type Reads, statement, type Tx } from '../store/tx.ts';

type BeginAction = Parameters<PeopleLedger['beginAction']>[0];
type NoteCause = Parameters<PeopleLedger['noteCause']>[1];
type SetLookupValue = Parameters<PeopleLedger['setLookupValue']>[0];

/**
 * The outcome of an action that its process did not finish. Its writes are in the ledger and are delivered without a
 * further action.
 */
const LEFT = {
  message: 'The process ended before this action was complete.',
  suggestion: 'dpp-sync continues the part that was stored. Look at what is left, and start the action again.',
};

/** How many tasks are kept (I9). */
const TASKS_MAX = 200;

const SQL = {
  begin: statement<[{ at: number; who: string; via: string; action: string; detail: string }]>(
    'INSERT INTO actions (at, who, via, action, detail) VALUES (@at, @who, @via, @action, @detail)',
  ),
  end: statement<[number, string, number]>('UPDATE actions SET ended_at = ?, outcome = ? WHERE id = ?'),
  endLeft: statement<[number, string]>('UPDATE actions SET ended_at = ?, outcome = ? WHERE outcome IS NULL'),
  keepTask: statement<[StoredTask]>(
    `INSERT INTO tasks (id, name, title, who, started_at, ended_at, outcome, version)
     VALUES (@id, @name, @title, @who, @startedAt, @endedAt, @outcome, @version)
     ON CONFLICT (id) DO UPDATE SET ended_at = @endedAt, outcome = @outcome`,
  ),
  dropTasks: statement<[]>(
    `DELETE FROM tasks WHERE ended_at IS NOT NULL
       AND number NOT IN (SELECT number FROM tasks ORDER BY number DESC LIMIT ${TASKS_MAX})`,
  ),
  tasks: statement<[], StoredTask>(
    `SELECT id, name, title, who, started_at AS "startedAt", ended_at AS "endedAt", outcome, version FROM tasks ORDER BY number`,
  ),
  endLeftTasks: statement<[number, string]>('UPDATE tasks SET ended_at = ?, outcome = ? WHERE ended_at IS NULL'),
  note: statement<[NoteCause & { cause: string; at: number }]>(
    `INSERT INTO cause_notes (cause, text, owner, noted_by, noted_at) VALUES (@cause, @text, @owner, @by, @at)
     ON CONFLICT (cause) DO UPDATE SET text = @text, owner = @owner, noted_by = @by, noted_at = @at`,
  ),
  dropNote: statement<[string]>('DELETE FROM cause_notes WHERE cause = ?'),
  setValue: statement<[SetLookupValue & { at: number }]>(
    `INSERT INTO lookup_values (lookup, key, value, set_by, set_at) VALUES (@lookup, @key, @value, @by, @at)
     ON CONFLICT (lookup, key) DO UPDATE SET value = @value, set_by = @by, set_at = @at`,
  ),
  values: statement<[], ValueByHand>('SELECT lookup, key, value FROM lookup_values ORDER BY lookup, key'),
  removeValue: statement<[string, string]>('DELETE FROM lookup_values WHERE lookup = ? AND key = ?'),
  setPassword: statement<[OwnPassword & { at: number }]>(
    `INSERT INTO passwords (name, hash, replaces, set_at) VALUES (@name, @hash, @replaces, @at)
     ON CONFLICT (name) DO UPDATE SET hash = @hash, replaces = @replaces, set_at = @at`,
  ),
  dropPassword: statement<[string, string]>('DELETE FROM passwords WHERE name = ? AND hash = ?'),
  passwords: statement<[], OwnPassword>('SELECT name, hash, replaces FROM passwords ORDER BY name'),
};

export function beginAction(tx: Tx, { detail, ...action }: BeginAction): number {
  const begun = SQL.begin(tx).run({ ...action, detail: JSON.stringify(detail), at: tx.clock.now() });
  return Number(begun.lastInsertRowid);
}

/** Ends the actions and tasks of a process that was killed. */
export function endLeftActions(tx: Tx): void {
  SQL.endLeft(tx).run(tx.clock.now(), `${LEFT.message} ${LEFT.suggestion}`);
  SQL.endLeftTasks(tx).run(tx.clock.now(), JSON.stringify({ ok: false, code: 'daemon.stopped', ...LEFT }));
}

export function keepTask(tx: Tx, task: StoredTask): void {
  SQL.keepTask(tx).run(task);
  SQL.dropTasks(tx).run();
}

export function keptTasks(reads: Reads): StoredTask[] {
  return SQL.tasks(reads).all();
}

export function endAction(tx: Tx, id: number, outcome: string): void {
  SQL.end(tx).run(tx.clock.now(), outcome, id);
}

export function noteCause(tx: Tx, cause: string, note: NoteCause): void {
  if (note.text === '' && note.owner === '') SQL.dropNote(tx).run(cause);
  else SQL.note(tx).run({ cause, ...note, at: tx.clock.now() });
}

export function valuesByHand(reads: Reads): ValueByHand[] {
  return SQL.values(reads).all();
}

/** Stores a value. Returns how many records wait for the mapping because of it. */
export function setLookupValue(tx: Tx, value: SetLookupValue): { records: number } {
  return { records: changeByHand(tx, value, () => void SQL.setValue(tx).run({ ...value, at: tx.clock.now() })) };
}

export function removeLookupValue(tx: Tx, lookup: string, key: string): { records: number } {
  return { records: changeByHand(tx, { lookup, key }, () => void SQL.removeValue(tx).run(lookup, key)) };
}

export function setPassword(tx: Tx, password: OwnPassword): void {
  SQL.setPassword(tx).run({ ...password, at: tx.clock.now() });
}

export function dropPasswords(tx: Tx, dropped: readonly OwnPassword[]): void {
  for (const { name, hash } of dropped) SQL.dropPassword(tx).run(name, hash);
}

export function passwords(reads: Reads): OwnPassword[] {
  return SQL.passwords(reads).all();
}
