import { transition } from '../../domain/delivery/delivery.ts';
import { ITEM_KINDS } from '../../domain/item.ts';
import type { MappedRecord } from '../../domain/ports/intake.ts';
import type { ReplayCandidate, ReplayOutcome, ReplaySelection } from '../../domain/ports/replay.ts';
import type { Restored } from '../backup/restored.ts';
import { type Contact, kindCreatedBy } from '../contact/contact.ts';
import { FIRST_CODE, FIRST_FIELD, IS_QUARANTINED, type RecordGroup } from '../dashboard/stuck-groups.ts';
import type { ItemRow } from '../items/item-row.ts';
import type { Items } from '../items/items.ts';
import { KEPT_KEY } from '../items/kept-natural-key.ts';
import type { Lookups } from '../records/lookups.ts';
import { type PendingRow, pendingRecord } from '../records/pending-records.ts';
import { createRunAccounts } from '../records/run-accounts.ts';
import { type RecordRow, SELECT_RECORD } from '../records/staged-record.ts';
import type { Staging, Tally } from '../records/staging.ts';
import type { LedgerContext } from '../store/context.ts';
import { createCauseSelections, type SelectedByCause } from './cause-selections.ts';
import { isStuck } from './delivery-states.ts';
import { hasReason } from './reason-conditions.ts';
import type { ProofsOfImports } from './requests/import-proof.ts';
import type { Requests } from './requests/requests.ts';
import { parametersOf, type SelectionParameters } from './selection.ts';

/** Sends stuck deliveries again. Run each function as one transaction. */
export interface Replay {
  candidates(request: { selection: ReplaySelection; afterId: number; limit: number }): ReplayCandidate[];
  replay(request: { records: readonly MappedRecord[]; renames?: boolean; dryRun: boolean }): ReplayOutcome;
  forceUnconfirmed(request: { selection: ReplaySelection; dryRun: boolean }): number;
}

/**
 * The kinds of items that records make. The statements below name the kinds, because the indexes by key begin with the
 * kind.
 */
const KINDS = ITEM_KINDS.map((kind) => `'${kind}'`).join(', ');

export function createReplay(
  { db }: LedgerContext,
  {
    items,
    requests,
    restored,
    contact,
    lookups,
    importProofs,
  }: {
    items: Items;
    requests: Requests;
    restored: Restored;
    contact: Pick<Contact, 'countCreates' | 'listAgain'>;
    lookups: Pick<Lookups, 'areCurrent'>;
    importProofs: Pick<ProofsOfImports, 'tryChangesAgain'>;
  },
  staging: Staging,
): Replay {
  const accounts = createRunAccounts(db);
  const selectedBy = createCauseSelections(db);
  const sql = {
    // The `+` prevents SQLite from reading all items or records in the order of their records.
    candidates: db.prepare<[SelectionParameters & { afterId: number; limit: number }], PendingRow>(
      `WITH found (record_id) AS (
         SELECT +i.record_id FROM items i
         WHERE i.state IN (SELECT value FROM json_each(@states)) AND ${isStuck('i')}
           AND (@keys = '[]' OR i.key IN (SELECT value FROM json_each(@keys))
                OR i.natural_key IN (SELECT value FROM json_each(@keys)))
           AND (@ids = '[]' OR i.id IN (SELECT value FROM json_each(@ids)))
         UNION
         SELECT +i.record_id FROM items i
         WHERE i.ignored_hash IS NOT NULL AND 'superseded' IN (SELECT value FROM json_each(@states)) AND @ids = '[]'
           AND (@keys = '[]' OR i.key IN (SELECT value FROM json_each(@keys))
                OR i.natural_key IN (SELECT value FROM json_each(@keys)))
         UNION
         SELECT +i.record_id FROM items i
         WHERE i.kind IN (${KINDS}) AND i.key IN (SELECT value FROM json_each(@keys)) AND @ids = '[]'
           AND 'superseded' IN (SELECT value FROM json_each(@states))
           AND EXISTS (SELECT 1 FROM events e WHERE e.item_id = i.id AND e.type = '${KEPT_KEY}')
         UNION
         SELECT +r.id FROM records r
         WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND @ids = '[]'
           AND 'quarantined' IN (SELECT value FROM json_each(@states))
           AND (@keys = '[]' OR r.key IN (SELECT value FROM json_each(@keys)) OR r.id IN
                (SELECT record_id FROM contenders WHERE kind IN (${KINDS}) AND key IN (SELECT value FROM json_each(@keys)))
                OR r.id IN (SELECT record_id FROM items WHERE kind IN (${KINDS}) AND key IN (SELECT value FROM json_each(@keys)))
                OR r.id IN (SELECT record_id FROM items
                            WHERE kind IN (${KINDS}) AND natural_key IN (SELECT value FROM json_each(@keys))))
       )
       SELECT r.id, r.version, s.source, s.name AS stream, r.raw, r.place, r.source_issues AS issues
       FROM found JOIN records r ON r.id = found.record_id JOIN streams s ON s.id = r.stream_id
       WHERE (@sources = '[]' OR s.source IN (SELECT value FROM json_each(@sources))) AND r.id > @afterId
       ORDER BY r.id LIMIT @limit`,
    ),
    ofIssue: db.prepare<
      [Pick<RecordGroup, 'streamId' | 'code' | 'field'> & { afterId: number; limit: number }],
      PendingRow
    >(
      `SELECT r.id, r.version, s.source, s.name AS stream, r.raw, r.place, r.source_issues AS issues
       FROM records r INDEXED BY records_by_issue CROSS JOIN streams s ON s.id = r.stream_id
       WHERE ${IS_QUARANTINED} AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field
         AND r.id > @afterId ORDER BY r.id LIMIT @limit`,
    ),
    unconfirmed: db.prepare<
      [SelectionParameters],
      Pick<ItemRow, 'id' | 'revision' | 'operation' | 'requestId' | 'requestPlace'>
    >(
      `SELECT i.id, i.revision, i.operation, i.request_id AS requestId, i.request_place AS requestPlace FROM items i
       WHERE ${isStuck('i')} AND i.state = 'in_doubt'
         AND 'in_doubt' IN (SELECT value FROM json_each(@states))
         AND (@keys = '[]' OR i.key IN (SELECT value FROM json_each(@keys))
              OR i.natural_key IN (SELECT value FROM json_each(@keys)))
         AND (@ids = '[]' OR i.id IN (SELECT value FROM json_each(@ids)))
         AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources)))`,
    ),
    record: db.prepare<[number], RecordRow>(SELECT_RECORD),
    savepoint: db.prepare('SAVEPOINT dry_run'),
    undo: db.prepare('ROLLBACK TO dry_run'),
    release: db.prepare('RELEASE dry_run'),
    resend: db.prepare<[string, number]>('UPDATE items SET state = ?, due_at = 0, uncertain = 0 WHERE id = ?'),
  };

  function replay(records: readonly MappedRecord[], renames: boolean): ReplayOutcome {
    const tally: Tally = { due: 0, waiting: 0, blocked: 0, creates: new Map() };
    const outcome: ReplayOutcome = { staged: 0, quarantined: 0, leftUnconfirmed: 0 };
    for (const { id, version, result } of records) {
      const record = sql.record.get(id);
      if (record?.version !== version || !lookups.areCurrent(result.uses)) continue;
      if (record.runId !== null) accounts.passedBy(record.runId, record.streamId);
      for (const item of items.ownedBy(id)) {
        const open = items.openDelivery(item.id);
        if (open?.state === 'in_doubt') outcome.leftUnconfirmed += 1;
        const kind = open && hasReason(open, 'ambiguous_key') ? kindCreatedBy(open.operation) : undefined;
        if (kind !== undefined) contact.listAgain(kind);
        if (open && hasReason(open, 'needs_proof')) importProofs.tryChangesAgain();
      }
      const { source, missingSince } = record;
      const state = staging.apply({ id, source, missingSince, isNew: false }, result, { again: true, renames, tally });
      if (state === 'quarantined') outcome.quarantined += 1;
    }
    contact.countCreates(tally.creates);
    outcome.staged += tally.due + tally.waiting + tally.blocked;
    return outcome;
  }

  function withCause(selection: ReplaySelection): SelectedByCause {
    return selection.cause === undefined ? { type: 'deliveries', selection } : selectedBy(selection.cause);
  }

  return {
    candidates({ selection, afterId, limit }) {
      const selected = withCause(selection);
      if (selected === null) return [];
      if (selected.type === 'deliveries') {
        return sql.candidates.all({ ...parametersOf(selected.selection), afterId, limit }).map(pendingRecord);
      }
      const { streamId, code, field } = selected.group;
      return sql.ofIssue.all({ streamId, code, field, afterId, limit }).map(pendingRecord);
    },

    forceUnconfirmed({ selection, dryRun }) {
      const selected = withCause(selection);
      if (selected?.type !== 'deliveries') return 0;
      const unconfirmed = sql.unconfirmed.all(parametersOf(selected.selection));
      if (dryRun) return unconfirmed.length;
      for (const item of unconfirmed) {
        const { id, revision } = item;
        // A person has decided about this delivery alone. But its stored request is never sent again. If the request is
        // an import of changed products, its other members leave the import too, and get new requests.
        requests.release(item);
        // A person has confirmed that the write had no effect. The revision ends, because a server that stores its
        // failures would repeat the failure for ever under the same key.
        sql.resend.run(transition('in_doubt', 'resend'), id);
        items.note(id, revision, 'forced', null);
        restored.wasAbsent(id);
        items.takeBack(id);
        // If the desired payload has changed since, that payload is sent.
        items.reconcile(id);
      }
      return unconfirmed.length;
    },

    replay({ records, renames = false, dryRun }) {
      if (!dryRun) return replay(records, renames);
      // The records are replayed and the changes are undone. Only a replay shows the result, because other records may
      // contend for the items.
      sql.savepoint.run();
      try {
        return replay(records, renames);
      } finally {
        sql.undo.run();
        sql.release.run();
      }
    },
  };
}
