// What is stuck, grouped by cause: the one list that pages, commands and the API show.

import {
  type ApiTrouble,
  adviceOnDelivery,
  adviceOnIssue,
  type CauseType,
  type Delivered,
  isGuardedChange,
} from '../../domain/advice.ts';
import { NO_REASON, storedReason } from '../../domain/delivery/stored-reason.ts';
import { type ForeignCode, foundText, type Issue } from '../../domain/issue.ts';
import { type MappedFields, unmappedCure } from '../../domain/passport.ts';
import type { GuardedRead } from '../../domain/ports/guarded-intake.ts';
import type {
  Cause,
  CauseMember,
  CauseNote,
  FoundCause,
  Listed,
  ListPage,
} from '../../domain/ports/ledger/dashboard-views.ts';
import { itemState } from '../items/missing.ts';
import {
  FIRST_CODE,
  FIRST_FIELD,
  findStuckGroup,
  IS_QUARANTINED,
  type ItemGroup,
  NEEDS_PERSON,
  type RecordGroup,
  SHAPE,
  type StuckGroup,
  stuckGroups,
} from '../items/stuck-groups.ts';
import { column, parseJsonOrNull, perDatabase, statement } from '../store/tx.ts';
import { guardedReads, type QuarantineRow, quarantinedRecord, runsOf } from '../views/source-views.ts';
import type { Db } from '../views/view-reads.ts';
import type { DashboardReads } from './catalog.ts';
import { FIRST_VALUE, type Figures, figuresOf, NO_VALUES } from './group-figures.ts';
import { limitOf, pageOfRows, placeOf } from './lists.ts';
import { causesOfMissingParts, membersOfMissing } from './missing-parts.ts';
import { causesOfApi, causesOfGuard, causesOfHeldRuns, causesOfRuns, failedRuns, shown } from './source-causes.ts';

/** A cause without what is counted of its members. */
type Described = Omit<FoundCause, keyof Figures>;

/** The first item of a group. */
interface FirstItem extends Omit<Delivered, 'reason'> {
  id: number;
  reason: string | null;
  rowSource: string | null;
  rowStream: string | null;
}

const CAUSES = {
  issues: statement<[string], { id: number; issues: string | null }>(
    'SELECT r.id, CASE WHEN json_valid(r.issues) THEN r.issues END AS issues FROM json_each(?) e CROSS JOIN records r ON r.id = e.value',
  ),
  // The row of the product says which fields the mapping gives to the passport.
  items: statement<[string], FirstItem>(
    `SELECT i.id, i.reason, i.kind, i.key, i.natural_key AS naturalKey, i.source, i.state, s.source AS rowSource, s.name AS rowStream
     FROM json_each(?) e CROSS JOIN items i ON i.id = e.value
     LEFT JOIN items p ON i.kind = 'passport' AND p.kind = 'product' AND p.key = i.key
     LEFT JOIN records r ON r.id = p.record_id LEFT JOIN streams s ON s.id = r.stream_id`,
  ),
  notes: statement<[], CauseNote & { cause: string }>(
    'SELECT cause, text, owner, noted_by AS by, noted_at AS at FROM cause_notes',
  ),
};

/**
 * The causes of what is stuck. The cause that keeps the most passports from being published comes first; where that number is not
 * known, it may be all of them.
 */
export function listCauses(
  reads: DashboardReads,
  { source, type }: { source?: string | undefined; type?: CauseType | undefined },
  api: readonly ApiTrouble[] = [],
): Cause[] {
  const fits = (cause: Cause) =>
    (source === undefined || cause.source === source) && (type === undefined || cause.type === type);
  return allCauses(reads, api).filter(fits);
}

export function findCause(reads: DashboardReads, id: string, api: readonly ApiTrouble[] = []): Cause | null {
  return allCauses(reads, api).find((cause) => cause.id === id) ?? null;
}

function allCauses(reads: DashboardReads, api: readonly ApiTrouble[]): Cause[] {
  const notes = new Map(
    CAUSES.notes(reads)
      .all()
      .map(({ cause, ...note }) => [cause, note]),
  );
  const found = [
    ...causesOfGroups(reads, stuckGroups(reads)),
    ...causesOfMissingParts(reads),
    ...causesOfRuns(reads),
    ...causesOfGuard(reads),
    ...causesOfHeldRuns(reads),
    ...causesOfApi(reads, api),
  ];
  const heldBy = ({ passportsHeld: held }: FoundCause): number => held ?? Number.MAX_SAFE_INTEGER;
  return found
    .map((cause) => ({ ...cause, note: notes.get(cause.id) ?? null }))
    .sort((a, b) => heldBy(b) - heldBy(a) || b.count - a.count || (a.id < b.id ? -1 : 1));
}

/** Makes each cause from the first member of its group. */
function causesOfGroups(reads: DashboardReads, groups: readonly StuckGroup[]): FoundCause[] {
  const figures = figuresOf(reads, groups);
  const held = guardedReads(reads);
  const firsts = (isOfRecords: boolean) =>
    JSON.stringify(groups.filter(({ type }) => (type === 'quarantine') === isOfRecords).map(({ firstId }) => firstId));
  const records = new Map(
    CAUSES.issues(reads)
      .all(firsts(true))
      .map((row) => [row.id, row.issues]),
  );
  const items = new Map(
    CAUSES.items(reads)
      .all(firsts(false))
      .map((row) => [row.id, row]),
  );
  return groups.map((group) => ({
    ...(group.type === 'quarantine'
      ? causeOfRows(group, records.get(group.firstId) ?? null)
      : causeOfItems(group, items.get(group.firstId), { held, mappedFields: reads.passportRules.mappedFields })),
    ...(figures.get(group.id) ?? { passportsHeld: null, ...NO_VALUES }),
  }));
}

function causeOfRows(group: RecordGroup, issues: string | null): Described {
  const { id, type, source, stream, count, since, until } = group;
  const code = (group.code ?? 'unknown') as ForeignCode;
  const [first] = parseJsonOrNull<Issue[]>(issues) ?? [];
  const issue: Issue = first ?? { code, message: 'No reason was kept.' };
  const value = issue.value === undefined ? null : shown(foundText(issue));
  const common = { id, type, source, stream, code, field: group.field, count };
  const seen = { firstSeenAt: since, lastSeenAt: until };
  return { ...common, ...seen, ...adviceOnIssue(issue, source), example: value };
}

function causeOfItems(
  group: ItemGroup,
  first: FirstItem | undefined,
  { held, mappedFields }: { held: readonly GuardedRead[]; mappedFields: readonly MappedFields[] },
): Described {
  const { id, type, source, count, since, until } = group;
  const reason = storedReason(first?.reason ?? null) ?? { ...NO_REASON, message: 'No reason was kept.' };
  const [field = null] = Object.keys(reason.fields ?? {});
  const common = { id, type, source, stream: null, code: reason.code, field, count };
  const seen = { firstSeenAt: since, lastSeenAt: until };
  const item = { kind: 'product' as const, key: '', naturalKey: null, source, state: group.state, ...first, reason };
  const { rowSource = null, rowStream = null } = first ?? {};
  const from = rowSource === null || rowStream === null ? null : { source: rowSource, stream: rowStream };
  const advice = adviceOnDelivery(item, {
    isGuarded: isGuardedChange(item, () => held),
    unmapped: item.kind === 'passport' ? unmappedCure(reason, from, mappedFields) : null,
  });
  return { ...common, ...seen, ...advice, example: first?.key ?? null };
}

// The members of a cause: rows in quarantine, items, or failed runs.

interface ItemRow extends Omit<NonNullable<CauseMember['item']>, 'reason'> {
  id: number;
  reason: string | null;
}

type Bounds = { after: number; limit: number; value: string | null };
type StoredRecord = Pick<QuarantineRow, 'id' | 'key' | 'place' | 'raw' | 'issues'>;

const MEMBERS = {
  records: statement<[Pick<RecordGroup, 'streamId' | 'code' | 'field'> & Bounds], StoredRecord>(
    `SELECT r.id, r.key, r.place, r.raw, CASE WHEN json_valid(r.issues) THEN r.issues END AS issues FROM records r INDEXED BY records_by_issue
     WHERE ${IS_QUARANTINED} AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field
       AND (@value IS NULL OR ${FIRST_VALUE} = @value) AND r.id > @after ORDER BY r.id LIMIT @limit`,
  ),
  countOfValue: column<[Pick<RecordGroup, 'streamId' | 'code' | 'field'> & { value: string }], number>(
    `SELECT count(*) FROM records r INDEXED BY records_by_issue
     WHERE ${IS_QUARANTINED} AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field
       AND ${FIRST_VALUE} = @value`,
  ),
  items: statement<[Pick<ItemGroup, 'state' | 'shape' | 'source'> & Pick<Bounds, 'after' | 'limit'>], ItemRow>(
    `SELECT i.id, i.kind, i.key, i.natural_key AS naturalKey, i.desired ->> '$.name' AS name, i.revision,
       ${itemState('i')} AS state, i.settled_at AS since, i.reason
     FROM items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON} AND i.state = @state AND ${SHAPE} = @shape
       AND i.source = @source AND i.id > @after ORDER BY i.id LIMIT @limit`,
  ),
};

/** The group that was found last. To find a group, all its members are counted: the pages of one download do that once. */
const lastFound = perDatabase(() => ({ group: null as StuckGroup | null }));

function groupOf(reads: Db, id: string, after: number): StuckGroup | null {
  const last = lastFound(reads);
  if (after === 0 || last.group?.id !== id) last.group = findStuckGroup(reads, id);
  return last.group;
}

/** The members of a cause, in the order of their ids. */
export function causeMembers(
  reads: DashboardReads,
  id: string,
  asked: ListPage & { value?: string | undefined },
): Listed<CauseMember> {
  const limit = limitOf(asked);
  const after = Number(placeOf(asked).after?.[0] ?? 0);
  const { count, members } = membersOf(reads, id, { after, limit: limit + 1, value: asked.value ?? null });
  const { rows, next } = pageOfRows(members, limit);
  return { rows: rows.map(({ member }) => member), next, total: { count, atLeast: false } };
}

function membersOf(
  reads: DashboardReads,
  id: string,
  bounds: Bounds,
): { count: number; members: { id: number; member: CauseMember }[] } {
  const none: CauseMember = { record: null, item: null, run: null };
  const group = groupOf(reads, id, bounds.after);
  if (group === null) {
    const waiting = membersOfMissing(reads, id, bounds);
    if (waiting !== null) return waiting;
    const failed = failedRuns(reads).find((one) => one.id === id);
    const ids = (failed?.runs ?? []).toReversed().filter((run) => run > bounds.after);
    const runs = runsOf(reads, ids.slice(0, bounds.limit));
    return { count: failed?.count ?? 0, members: runs.map((run) => ({ id: run.id, member: { ...none, run } })) };
  }
  if (group.type === 'quarantine') {
    const { streamId, code, field, source, stream } = group;
    const { value } = bounds;
    const rows = MEMBERS.records(reads).all({ streamId, code, field, ...bounds });
    const members = rows.map((row) => ({
      id: row.id,
      member: { ...none, record: quarantinedRecord({ ...row, source, stream }) },
    }));
    const count =
      value === null ? group.count : (MEMBERS.countOfValue(reads).get({ streamId, code, field, value }) ?? 0);
    return { count, members };
  }
  const { state, shape, source } = group;
  const { after, limit } = bounds;
  const rows = MEMBERS.items(reads).all({ state, shape, source, after, limit });
  const members = rows.map(({ id: itemId, reason, ...item }) => {
    const stored = storedReason(reason) ?? { ...NO_REASON, message: 'No reason was kept.' };
    return { id: itemId, member: { ...none, item: { ...item, reason: stored } } };
  });
  return { count: group.count, members };
}
