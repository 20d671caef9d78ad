// Sends stuck deliveries again.

import { ITEM_KINDS, type ItemKind } from '../../domain/item.ts';
import type { MappedRecord } from '../../domain/ports/intake.ts';
import type {
  FormReplay,
  FormReplayPage,
  ReplayCandidate,
  ReplayOutcome,
  ReplaySelection,
} from '../../domain/ports/ledger/replay-ledger.ts';
import { countCreates, kindCreatedBy, listAgain } from '../contact/contact.ts';
import {
  hasReason,
  ITEM_COLUMNS,
  type ItemRow,
  idsOf,
  isOpenState,
  isStuck,
  itemsById,
  itemsOfRecords,
} from '../items/item-row.ts';
import { KEPT_KEY, noteEvents } from '../items/item-writes.ts';
import { reconcileAll, sendInPresentForm } from '../items/reconcile.ts';
import { leaveRequests } from '../items/requests.ts';
import { markAbsent } from '../items/restored.ts';
import { move, supersedeRevisions } from '../items/revisions.ts';
import {
  FIRST_CODE,
  FIRST_FIELD,
  hasKey,
  IS_QUARANTINED,
  parametersOf,
  type RecordGroup,
  type SelectionParameters,
  selectedBy,
} from '../items/stuck-groups.ts';
import { findRecordsToStage, stageAll, storeStates, type Tally } from '../records/staging.ts';
import { countReplacedRows, type PendingRow, pendingRecord } from '../records/streams.ts';
import { type Reads, statement, type Tx } from '../store/tx.ts';
import { tryChangesAgain } from './imports.ts';

/**
 * The kinds of items that records make. The statements below name the kinds, because the indexes by key begin with the
 * kind.
 */
const KINDS = ITEM_KINDS.map((kind) => `'${kind}'`).join(', ');

/** How many items one transaction looks at, when items are sent in another form. */
const PAGE = 100;

const SQL = {
  // The `+` prevents SQLite from reading all items or records in the order of their records.
  candidates: statement<[SelectionParameters & { afterId: number; limit: number }], PendingRow>(
    `WITH found (record_id) AS (
       SELECT +i.record_id FROM items i
       WHERE i.state IN (SELECT value FROM json_each(@states)) AND ${isStuck('i')}
         AND ${hasKey('i')}
         AND (@ids = '[]' OR i.id IN (SELECT value FROM json_each(@ids)))
       UNION
       SELECT +i.record_id FROM items i
       WHERE i.ignored_hash IS NOT NULL AND 'superseded' IN (SELECT value FROM json_each(@states)) AND @ids = '[]'
         AND ${hasKey('i')}
       UNION
       SELECT +i.record_id FROM items i
       WHERE i.kind IN (${KINDS}) AND i.key IN (SELECT value FROM json_each(@keys)) AND @ids = '[]'
         AND 'superseded' IN (SELECT value FROM json_each(@states))
         AND EXISTS (SELECT 1 FROM events e WHERE e.item_id = i.id AND e.type = '${KEPT_KEY}')
       UNION
       SELECT +r.id FROM records r
       WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND @ids = '[]'
         AND 'quarantined' IN (SELECT value FROM json_each(@states))
         AND (@keys = '[]' OR r.key IN (SELECT value FROM json_each(@rowKeys)) OR r.id IN
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
  ofIssue: statement<
    [Pick<RecordGroup, 'streamId' | 'code' | 'field'> & { afterId: number; limit: number }],
    PendingRow
  >(
    `SELECT r.id, r.version, s.source, s.name AS stream, r.raw, r.place, r.source_issues AS issues
     FROM records r INDEXED BY records_by_issue CROSS JOIN streams s ON s.id = r.stream_id
     WHERE ${IS_QUARANTINED} AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field
       AND r.id > @afterId ORDER BY r.id LIMIT @limit`,
  ),
  unconfirmed: statement<
    [SelectionParameters],
    Pick<ItemRow, 'id' | 'revision' | 'operation' | 'requestId' | 'requestPlace'>
  >(
    `SELECT i.id, i.revision, i.operation, i.request_id AS requestId, i.request_place AS requestPlace FROM items i
     WHERE ${isStuck('i')} AND i.state = 'in_doubt'
       AND 'in_doubt' IN (SELECT value FROM json_each(@states))
       AND ${hasKey('i')}
       AND (@ids = '[]' OR i.id IN (SELECT value FROM json_each(@ids)))
       AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources)))`,
  ),
  inForm: statement<[string, number | null, number], ItemRow>(
    `SELECT ${ITEM_COLUMNS} FROM items
     WHERE acknowledged > 0 AND kind = ? AND form IS ? AND id > ? ORDER BY id LIMIT ${PAGE}`,
  ),
  savepoint: statement('SAVEPOINT dry_run'),
  undo: statement('ROLLBACK TO dry_run'),
  release: statement('RELEASE dry_run'),
};

export function replayCandidates(
  reads: Reads,
  { selection, afterId, limit }: { selection: ReplaySelection; afterId: number; limit: number },
): ReplayCandidate[] {
  const selected = selectedBy(reads, selection);
  if (selected === null) return [];
  if (selected.type === 'deliveries') {
    return SQL.candidates(reads)
      .all({ ...parametersOf(selected.selection), afterId, limit })
      .map(pendingRecord);
  }
  const { streamId, code, field } = selected.group;
  return SQL.ofIssue(reads).all({ streamId, code, field, afterId, limit }).map(pendingRecord);
}

export function forceUnconfirmed(
  tx: Tx,
  { selection, dryRun }: { selection: ReplaySelection; dryRun: boolean },
): number {
  const selected = selectedBy(tx, selection);
  if (selected?.type !== 'deliveries') return 0;
  const unconfirmed = SQL.unconfirmed(tx).all(parametersOf(selected.selection));
  if (dryRun) return unconfirmed.length;
  const ids = idsOf(unconfirmed);
  // A person has decided about these deliveries alone. But their stored requests are never sent again. If a request is
  // an import of changed products, its other members leave the import too, and get new requests.
  leaveRequests(tx, unconfirmed);
  // A person has confirmed that the writes had no effect. The revisions end, because a server that stores its
  // failures would repeat a failure for ever under the same key.
  move(
    tx,
    unconfirmed.map(({ id }) => ({ id, state: 'in_doubt' as const })),
    'resend',
    { dueAt: 0, uncertain: 0 },
  );
  noteEvents(
    tx,
    unconfirmed.map(({ id, revision }) => ({ id, revision, type: 'forced', detail: null })),
  );
  markAbsent(tx, ids);
  supersedeRevisions(tx, itemsById(tx, ids));
  // If the desired payload has changed since, that payload is sent.
  reconcileAll(tx, ids);
  return unconfirmed.length;
}

export function replay(
  tx: Tx,
  { records, renames = false, dryRun }: { records: readonly MappedRecord[]; renames?: boolean; dryRun: boolean },
): ReplayOutcome {
  if (!dryRun) return replayRecords(tx, records, renames);
  // The records are replayed and the changes are undone. Only a replay shows the result, because other records may
  // contend for the items.
  SQL.savepoint(tx).run();
  try {
    return replayRecords(tx, records, renames);
  } finally {
    SQL.undo(tx).run();
    SQL.release(tx).run();
  }
}

function replayRecords(tx: Tx, records: readonly MappedRecord[], renames: boolean): ReplayOutcome {
  const tally: Tally = { due: 0, waiting: 0, blocked: 0, creates: new Map() };
  const outcome: ReplayOutcome = { staged: 0, quarantined: 0, leftUnconfirmed: 0 };
  const found = findRecordsToStage(tx, records, null).map((record) => ({ ...record, isNew: false }));
  countReplacedRows(tx, found);
  const open = itemsOfRecords(tx, idsOf(found)).filter(({ state }) => isOpenState(state));
  outcome.leftUnconfirmed = open.filter(({ state }) => state === 'in_doubt').length;
  const ambiguous = open.filter((item) => hasReason(item, 'ambiguous_key'));
  for (const operation of new Set(ambiguous.flatMap((item) => item.operation ?? []))) {
    const kind = kindCreatedBy(operation);
    if (kind !== undefined) listAgain(tx, kind);
  }
  if (open.some((item) => hasReason(item, 'needs_proof'))) tryChangesAgain(tx);
  stageAll(tx, found, {
    again: true,
    renames,
    tally,
    store(staged) {
      storeStates(tx, staged);
      outcome.quarantined += staged.filter(({ to }) => to?.state === 'quarantined').length;
    },
  });
  countCreates(tx, tally.creates);
  outcome.staged += tally.due + tally.waiting + tally.blocked;
  return outcome;
}

/**
 * Sends items again that the platform has in another form. Looks at one page of these items, in the order of their
 * forms.
 */
export function replayForm(tx: Tx, { sources, keys, kinds, after, dryRun }: FormReplay): FormReplayPage {
  const page: FormReplayPage = { staged: {}, unsupported: {}, open: {}, next: null };
  const other = tx.forms.others[after.form];
  if (other === undefined) return page;
  const { kind, form } = other;
  const isKind = kinds.includes(kind);
  const rows = kinds.length > 0 && !isKind ? [] : SQL.inForm(tx).all(kind, form, after.id);
  const count = (of: Partial<Record<ItemKind, number>>): void => {
    of[kind] = (of[kind] ?? 0) + 1;
  };
  const sent: ItemRow[] = [];
  for (const item of rows) {
    const isNamed = keys.includes(item.key) || (item.naturalKey !== null && keys.includes(item.naturalKey));
    if (sources.length > 0 && !sources.includes(item.source)) continue;
    // A person who has ended the write of an item has to name the item.
    if (!isNamed && (keys.length > 0 || item.ignoredHash !== null)) continue;
    if (isOpenState(item.state)) count(page.open);
    else {
      if (!dryRun && (isNamed || isKind || canUpdate(tx, kind))) sent.push(item);
      count(canUpdate(tx, kind) ? page.staged : page.unsupported);
    }
  }
  sendInPresentForm(tx, sent);
  const last = rows.at(-1);
  page.next = last === undefined ? { form: after.form + 1, id: 0 } : { form: after.form, id: last.id };
  return page;
}

function canUpdate(tx: Tx, kind: ItemKind): boolean {
  return kind === 'material' || (kind === 'product' && tx.profile.productUpdate === 'import');
}
