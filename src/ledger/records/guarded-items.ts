// The guard over items that disappear although their records are still there, for example because a nested list is
// empty, a column that `when` reads has changed, or a key in the mapping is wrong. These items are released. They count
// as present until the guard has decided about all released items of their stream at once, so that a broken export
// cannot pass in small parts.

import type { Operation } from '../../domain/delivery/operation.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { HeldStream, MissingGuard } from '../../domain/ports/guarded-intake.ts';
import type { CreatesAfter } from '../../domain/ports/intake.ts';
import { kindWord } from '../../domain/words/states.ts';
import { addCreate, type CreateCounts, countCreates, kindCreatedBy } from '../contact/contact.ts';
import { clearHeldReasons, setReleasedMissing } from '../items/item-writes.ts';
import { countHeldCreates, heldKeysOf, makeDue } from '../items/refs.ts';
import { column, statement, type Tx } from '../store/tx.ts';
import {
  countEnough,
  exceeds,
  formSentence,
  goneSentence,
  isMost,
  KEYS_COMPARED,
  KEYS_NAMED,
  limitWords,
} from './guard-limits.ts';
import { keptRefusal, releasedNames } from './guarded-reads.ts';

/** The released items of one kind, and those that the records of the stream make. */
interface KindFigures {
  kind: ItemKind;
  released: number;
  /** Without the new ones. */
  made: number;
  /** How many items are new. */
  fresh: number;
}

const SQL = {
  released: statement<[number], { kind: ItemKind; released: number }>(
    `SELECT i.kind, count(*) AS released FROM released l CROSS JOIN items i ON i.id = l.item_id
     WHERE l.stream_id = ? GROUP BY i.kind`,
  ),
  // Only as many records are read as the limit says, so that few rows are read if few items are released.
  made: column<[{ streamId: number; kind: ItemKind; limit: number }], number>(
    `SELECT count(*) FROM (SELECT 1 FROM records r CROSS JOIN items i ON i.record_id = r.id
       WHERE r.stream_id = @streamId AND r.missing_since IS NULL AND i.kind = @kind LIMIT @limit) AS found`,
  ),
  pending: column<[number], number>("SELECT 1 FROM records WHERE stream_id = ? AND state = 'pending' LIMIT 1"),
  stale: column<[number], number>(
    "SELECT id FROM records WHERE stream_id = ? AND state = 'stale' AND missing_since IS NULL",
  ),
  atRest: statement<[{ source: string | null }], { id: number; source: string; name: string; runId: number }>(
    `SELECT s.id, s.source, s.name, r.id AS runId FROM streams s
     CROSS JOIN runs r ON r.id = (SELECT max(id) FROM runs WHERE source = s.source AND cause <> 'upload')
     WHERE (@source IS NULL OR s.source = @source) AND r.result = 'complete'
       AND (EXISTS (SELECT 1 FROM released l WHERE l.stream_id = s.id)
         OR EXISTS (SELECT 1 FROM guarded_items g WHERE g.stream_id = s.id))
       -- An acceptance is about the next run.
       AND NOT EXISTS (SELECT 1 FROM guarded_items g
         WHERE g.stream_id = s.id AND g.run_id = r.id AND g.accepted_at IS NOT NULL)
       -- Of a read that the guard holds, missing records are not marked before the next read.
       AND NOT EXISTS (SELECT 1 FROM guarded_reads g WHERE g.stream_id = s.id AND g.accepted_at IS NULL)
       AND NOT EXISTS (SELECT 1 FROM older_exports o WHERE o.stream_id = s.id)
       AND NOT EXISTS (SELECT 1 FROM run_streams a WHERE a.run_id = r.id AND a.stream_id = s.id
         AND a.guarded IS NOT NULL AND a.missing > 0)
       AND NOT EXISTS (SELECT 1 FROM run_streams a WHERE a.run_id = r.id AND (
         EXISTS (SELECT 1 FROM records w WHERE w.stream_id = a.stream_id AND w.state = 'pending')
         OR EXISTS (SELECT 1 FROM records w WHERE w.stream_id = a.stream_id AND w.state = 'stale'
           AND w.missing_since IS NULL)))
       AND NOT EXISTS (SELECT 1 FROM lookups t JOIN runs o ON o.id = (SELECT max(id) FROM runs WHERE source = t.source AND cause <> 'upload')
         WHERE t.owner = s.source AND t.source <> s.source AND o.result IS NULL)
     ORDER BY s.id`,
  ),
  accepted: column<[number, number], number>(
    'SELECT 1 FROM guarded_items WHERE stream_id = ? AND accepted_at IS NOT NULL AND ? <= released',
  ),
  isHeld: column<[number, number], number>(
    'SELECT 1 FROM guarded_items WHERE stream_id = ? AND run_id = ? AND accepted_at IS NULL',
  ),
  hold: statement<[HoldRow]>(
    `INSERT INTO guarded_items (stream_id, run_id, since, released, message, holds_creates)
     VALUES (@streamId, @runId, @now, @released, @message, @holdsCreates)
     ON CONFLICT (stream_id) DO UPDATE SET run_id = @runId, released = @released, message = @message,
       holds_creates = @holdsCreates, accepted_at = NULL,
       ${keptRefusal('guarded_items', 'excluded.released <= guarded_items.released')}`,
  ),
  releasedKeys: column<[number, string, number], string>(
    `SELECT i.key FROM released l CROSS JOIN items i ON i.id = l.item_id
     WHERE l.stream_id = ? AND i.kind = ? ORDER BY i.id LIMIT ?`,
  ),
  releasedNames: column<[number, number], string>(releasedNames('?', '?')),
  forget: statement<[number]>('DELETE FROM released WHERE stream_id = ?'),
  pass: statement<[number]>('DELETE FROM guarded_items WHERE stream_id = ?'),
  sourceOf: column<[number], string>(
    'SELECT s.source FROM records r JOIN streams s ON s.id = r.stream_id WHERE r.id = ?',
  ),
  read: statement<[number]>(
    `UPDATE streams SET holds_creates = iif(holds_creates < 2, 2, 3) WHERE id = ? AND (complete_read IS NOT NULL OR holds_creates > 0)`,
  ),
  mapped: statement<[number]>(
    'UPDATE streams SET holds_creates = max(holds_creates, 1) WHERE id = ? AND (complete_read IS NOT NULL OR holds_creates > 0)',
  ),
  decide: statement<[number]>('UPDATE streams SET holds_creates = 1 WHERE id = ? AND holds_creates >= 2'),
  resume: statement<[number]>(
    'UPDATE streams SET holds_creates = holds_creates - 1 WHERE id = ? AND holds_creates >= 2',
  ),
  // A stream without released items and without waiting records is decided. An acceptance counts in the next run.
  decided: column<[{ streamId: number | null }], number>(
    `SELECT s.id FROM streams s WHERE s.holds_creates = 1 AND (@streamId IS NULL OR s.id = @streamId)
     AND NOT EXISTS (SELECT 1 FROM guarded_reads g WHERE g.stream_id = s.id AND g.holds_creates = 1)
     AND NOT EXISTS (SELECT 1 FROM guarded_items g WHERE g.stream_id = s.id AND g.holds_creates = 1)
     AND (NOT EXISTS (SELECT 1 FROM released l WHERE l.stream_id = s.id)
       OR EXISTS (SELECT 1 FROM guarded_items g WHERE g.stream_id = s.id))
     AND NOT EXISTS (SELECT 1 FROM records w WHERE w.stream_id = s.id AND w.state = 'pending')
     AND NOT EXISTS (SELECT 1 FROM records w WHERE w.stream_id = s.id AND w.state = 'stale' AND w.missing_since IS NULL)`,
  ),
  passCreates: statement<[number]>('UPDATE streams SET holds_creates = 0 WHERE id = ?'),
  held: statement<[number], HeldRow>(
    `SELECT i.id, i.revision, i.operation, i.source FROM held_creates h CROSS JOIN items i ON i.id = h.item_id
     WHERE h.stream_id = ? AND i.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM refs f
       LEFT JOIN items t ON t.kind = f.kind AND t.key = f.key
       WHERE f.item_id = i.id AND nullif(t.remote_id, 'null') IS NULL)`,
  ),
  forgetCreates: statement<[number]>('DELETE FROM held_creates WHERE stream_id = ?'),
};

/**
 * Returns why the guard takes a complete read of a stream for broken because of released items, and stores the
 * reason. Null if few items are released, if a person has accepted as many, or if records of the stream wait for the
 * mapping.
 *
 * @param gone the ids of the records that this read does not have
 */
export function checkReleasedItems(
  tx: Tx,
  streamId: number,
  { runId, guard, gone }: { runId: number; guard: MissingGuard; gone: readonly number[] },
): string | null {
  if (SQL.released(tx).get(streamId) === undefined || waits(tx, streamId, gone)) return null;
  return hold(tx, streamId, runId, guard);
}

/**
 * Decides about the released items of every stream whose source is at rest: its last run is complete, no record of it
 * waits for the mapping, and no source that it looks up is being read. Marks the items as missing, or keeps them
 * until a person decides.
 *
 * @param source the source to decide about; null for all
 * @returns the streams for which the guard began to hold items in this call
 */
export function decideReleasedItems(tx: Tx, source: string | null): HeldStream[] {
  const held: HeldStream[] = [];
  for (const stream of SQL.atRest(tx).all({ source })) {
    const guard = tx.guardOf(stream.source);
    // The source may be missing from the config by mistake, so it must lose nothing.
    if (guard === null) continue;
    const wasHeld = SQL.isHeld(tx).get(stream.id, stream.runId) !== undefined;
    const message = hold(tx, stream.id, stream.runId, guard);
    if (message === null) markMissing(tx, stream.id);
    else if (!wasHeld) held.push({ source: stream.source, stream: stream.name, message });
  }
  return held;
}

/** Decides about the source of a record, as `decide` does. */
export function decideReleasedItemsOf(tx: Tx, recordId: number): HeldStream[] {
  const source = SQL.sourceOf(tx).get(recordId);
  return source === undefined ? [] : decideReleasedItems(tx, source);
}

/** The kinds of which more items are released than the guard allows, and how many items are released in all. */
function excessOf(tx: Tx, streamId: number, guard: MissingGuard): { excess: KindFigures[]; all: number } {
  const found = SQL.released(tx).all(streamId);
  const excess: KindFigures[] = [];
  for (const { kind, released } of found) {
    const fresh = countHeldCreates(tx, streamId, kind);
    const enough = countEnough(released, guard);
    const made = (SQL.made(tx).get({ streamId, kind, limit: enough < 0 ? enough : enough + fresh }) ?? 0) - fresh;
    if (!exceeds({ lost: released, known: made + released }, guard)) continue;
    excess.push({ kind, released, made, fresh });
  }
  return { excess, all: found.reduce((sum, { released }) => sum + released, 0) };
}

/**
 * Returns why the guard holds the released items of a stream, and stores the reason; null if the guard does not hold
 * them.
 */
function hold(tx: Tx, streamId: number, runId: number, guard: MissingGuard): string | null {
  const { excess, all } = excessOf(tx, streamId, guard);
  if (excess.length === 0 || SQL.accepted(tx).get(streamId, all) !== undefined) return null;
  const holdsCreates = excess.some(isMostOf) ? 1 : 0;
  const gone = goneSentence(SQL.releasedNames(tx).all(streamId, KEYS_NAMED), all);
  const message = `${messageOf(excess, guard)}${holdsCreates === 1 ? newWords(tx, streamId, excess) : ''}${gone}`;
  SQL.hold(tx).run({ streamId, runId, now: tx.clock.now(), released: all, message, holdsCreates });
  return message;
}

/** What is new in place of the released items, and whether its keys only have another form. */
function newWords(tx: Tx, streamId: number, excess: readonly KindFigures[]): string {
  const most = excess.filter((figures) => isMostOf(figures) && figures.fresh > 0);
  const [first] = most.toSorted((a, b) => b.fresh - a.fresh);
  if (first === undefined) return '';
  const counts = most.map(({ kind, fresh }) => `${fresh} ${kindWord(kind)}${fresh === 1 ? '' : 's'}`).join(' and ');
  const former = SQL.releasedKeys(tx).all(streamId, first.kind, KEYS_COMPARED);
  const fresh = heldKeysOf(tx, streamId, first.kind, KEYS_COMPARED);
  const isAll = first.released <= KEYS_COMPARED && first.fresh <= KEYS_COMPARED;
  return ` New are ${counts}, and none of them is created.${formSentence({ former, fresh, isAll })}`;
}

function waits(tx: Tx, streamId: number, gone: readonly number[]): boolean {
  if (SQL.pending(tx).get(streamId) !== undefined) return true;
  const isGone = new Set(gone);
  for (const id of SQL.stale(tx).iterate(streamId)) if (!isGone.has(id)) return true;
  return false;
}

function markMissing(tx: Tx, streamId: number): void {
  setReleasedMissing(tx, streamId, tx.clock.now());
  SQL.forget(tx).run(streamId);
  SQL.pass(tx).run(streamId);
}

interface HoldRow {
  streamId: number;
  runId: number;
  now: number;
  released: number;
  message: string;
  holdsCreates: 0 | 1;
}

const isMostOf = ({ released, made }: KindFigures): boolean => isMost({ lost: released, known: made + released });

/** Why the guard takes a read for broken, with the kinds that exceed its limit. */
function messageOf(excess: readonly KindFigures[], guard: MissingGuard): string {
  const kinds = excess.map(({ kind, released, made }) => {
    const all = made + released;
    const limits = limitWords({ lost: released, known: all }, guard);
    return `${released} of ${all} ${kindWord(kind)}${all === 1 ? '' : 's'} (${limits})`;
  });
  return `The records that are still there no longer make ${kinds.join(' and ')}. So none of these items was marked as missing. Look for a list that is empty, a value that \`when\` reads, or a changed key in the mapping.`;
}

// A create of a stream that was read before waits until the guard has decided about the stream. If most of what the stream had is
// gone, its creates stay held, for the same decision of a person. Otherwise they are sent.
//
// `streams.holds_creates` is 0 if new items of the stream are sent at once, 1 if they wait until its records are mapped and the guard has
// decided, 2 while the stream is being read, and 3 while it is being read after a read that failed.

interface HeldRow {
  id: number;
  revision: number;
  operation: Operation;
  source: string;
}

/** The stream is being read from now on, or its records are mapped again. Its new items wait if it was read before. */
export function holdCreates(tx: Tx, streamId: number, what: 'read' | 'mapping'): void {
  SQL[what === 'read' ? 'read' : 'mapped'](tx).run(streamId);
}

/** A read of the stream has ended. Lets its creates be sent if they no longer wait and the guard does not hold them. */
export function settleCreatesOfRead(tx: Tx, streamId: number, after: CreatesAfter): void {
  if (after === 'keep') return;
  SQL[after](tx).run(streamId);
  for (const id of SQL.decided(tx).all({ streamId })) passCreates(tx, id);
}

/** Lets the creates of all streams be sent that are read and mapped, if the guard does not hold them. */
export function settleHeldCreates(tx: Tx): void {
  for (const id of SQL.decided(tx).all({ streamId: null })) passCreates(tx, id);
}

function passCreates(tx: Tx, streamId: number): void {
  const ready = SQL.held(tx).all(streamId);
  clearHeldReasons(tx, streamId);
  SQL.forgetCreates(tx).run(streamId);
  SQL.passCreates(tx).run(streamId);
  if (ready.length === 0) return;
  makeDue(tx, ready);
  const creates: CreateCounts = new Map();
  for (const { source, operation } of ready) {
    const kind = kindCreatedBy(operation);
    if (kind !== undefined) addCreate(creates, source, kind);
  }
  countCreates(tx, creates);
}
