// The steps that explain why a product is not at the platform with the content that its sources have: the reads of its
// sources, its row, the rows that belong to it, and the items that it waits for.

import {
  adviceOnFailedRun,
  adviceOnIssue,
  cureOfLostRow,
  guardSteps,
  heldSteps as stepsOfHeld,
  stepsText,
} from '../../domain/advice.ts';
import { formatPlace, foundText, type Issue, type Place } from '../../domain/issue.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { RefStanding } from '../../domain/ports/ledger/ledger-views.ts';
import { kindWord } from '../../domain/words/states.ts';
import { formatTime } from '../../lib/text/amounts.ts';
import { isOpen } from '../items/item-row.ts';
import { needsNothing } from '../items/missing.ts';
import { GUARD_OF_SOURCE, type OpenGuard } from '../records/guarded-reads.ts';
import { HAS_UNMAPPED } from '../records/streams.ts';
import { parseJson, parseJsonOrNull, statement } from '../store/tx.ts';
import { itemOf, ROW_COLUMNS, rowsNaming, type StoredItem, type StoredRow } from '../views/item-views.ts';
import type { ViewReads } from '../views/view-reads.ts';
import { type AnswerReads, about, deliveryStep, namedItem, type Step, step } from './delivery-steps.ts';
import { causeOfMissing } from './missing-parts.ts';

interface LastRun {
  result: string | null;
  startedAt: number;
  endedAt: number | null;
  error: string | null;
}

/** At most this many other sources with a problem are shown. */
const SOURCES_MAX = 5;

const SOURCES = {
  // An upload of corrected rows does not read the source.
  lastRun: statement<[string], LastRun>(
    `SELECT result, started_at AS startedAt, ended_at AS endedAt, error FROM runs WHERE source = ? AND cause <> 'upload'
     ORDER BY id DESC LIMIT 1`,
  ),
  guard: statement<[string], OpenGuard>(GUARD_OF_SOURCE),
  unmapped: statement<[string], { found: number }>(
    `SELECT 1 AS found FROM streams s WHERE s.source = ? AND ${HAS_UNMAPPED} LIMIT 1`,
  ),
};

/** The step for the last read of a source. `own` is true for the source of the product. */
export function sourceStep(reads: ViewReads, source: string, own: boolean): Step {
  const rules = reads.passportRules;
  const gives = rules.partSources.includes(source);
  // A passport only waits for the sources of parts. The last read of any other source is shown for information.
  const held = gives ? 'stop' : 'unknown';
  const which = own ? 'its source' : 'the source';
  const name = gives && !own ? `${which} ${source}, which gives parts,` : `${which} ${source}`;
  const sync = `dpp-sync sync ${source}`;
  if (!rules.sources.includes(source)) {
    return step('unknown', `${name} is not in the config any more`, {
      cure: 'No run reads it, so its rows stay as they are.',
    });
  }
  const run = SOURCES.lastRun(reads).get(source);
  if (run === undefined) return step(held, `${name} has never been read`, { cure: 'Read it.', command: sync });
  if (run.result === null)
    return step(gives ? 'waits' : 'ok', `${name} is being read, since ${formatTime(run.startedAt)}`);
  const at = formatTime(run.endedAt ?? run.startedAt);
  if (run.result === 'failed') {
    const clause = `the last read of ${name} failed at ${at}: ${run.error ?? 'no message was kept'}`;
    return step(held, clause, { advice: adviceOnFailedRun(source) });
  }
  if (run.result === 'held') {
    const [first, ...others] = stepsOfHeld({ source });
    return step(held, `the last run of ${name} is held since ${at}, because it would do more than is allowed`, {
      cure: `${first?.text}. ${stepsText(others)}`,
      command: first?.command ?? null,
    });
  }
  if (run.result !== 'complete') {
    const cure = 'Read the source again.';
    return step(held, `the last read of ${name} was interrupted at ${at}`, { cure, command: sync });
  }
  const guard = SOURCES.guard(reads).get(source);
  if (guard !== undefined) return guardStep(name, source, held, guard);
  if (gives && SOURCES.unmapped(reads).get(source) !== undefined) {
    return step('waits', `not all rows of ${name.replace(/,$/, '')} are mapped yet`);
  }
  return step('ok', `${name} was read completely at ${at}`);
}

/** The steps for the other sources that the passport of each product waits for. */
export function otherSourceSteps(reads: ViewReads, own: string | null): Step[] {
  const others = reads.passportRules.partSources.filter((source) => source !== own);
  const wrong = others.map((source) => sourceStep(reads, source, false)).filter(({ standing }) => standing !== 'ok');
  return wrong.slice(0, SOURCES_MAX);
}

function guardStep(
  name: string,
  source: string,
  held: Step['standing'],
  { message, acceptedAt, isLeft, isOlder, refusedBy }: OpenGuard,
): Step {
  if (acceptedAt !== null) {
    const cure = `A person has accepted this read at ${formatTime(acceptedAt)}. The next read of the source uses that decision.`;
    return step(held, `the last read of ${name} looked broken: ${message}`, {
      cure,
      command: `dpp-sync sync ${source}`,
      isGuard: true,
    });
  }
  if (refusedBy !== null) {
    const cure = `${refusedBy} has refused this read, so what was there stays. The next whole export ends this.`;
    return step(held, `the last read of ${name} looked broken: ${message}`, {
      cure,
      command: `dpp-sync sync ${source}`,
      isGuard: true,
    });
  }
  const [first, ...others] = guardSteps({ source, isLeft: isLeft === 1, isOlder: isOlder === 1 });
  const cure = others.map(({ text, command }) => `${text}: \`${command}\`.`).join(' ');
  return step(held, `the guard holds the last read of ${name}: ${message}`, {
    cure: `${first?.text}. ${cure}`,
    command: first?.command ?? null,
    isGuard: true,
  });
}

/** The beginning of the step of a row that a held read lacks. */
export const NOT_READ = 'the read that the guard holds does not have';

const ROWS_MAX = 5;
const ISSUES_MAX = 3;
/** The length to which a value is cut. */
const FOUND_MAX = 80;

const HELD = `SELECT ${ROW_COLUMNS} FROM holds h JOIN records r ON r.id = h.record_id
  JOIN streams s ON s.id = r.stream_id AND s.source IN (SELECT value FROM json_each(@sources))
  WHERE r.state = 'quarantined' AND r.missing_since IS NULL`;
const ROWS = {
  ofProduct: statement<[string], StoredRow>(
    `SELECT ${ROW_COLUMNS} FROM items i JOIN records r ON r.id = i.record_id JOIN streams s ON s.id = r.stream_id
     WHERE i.kind = 'product' AND i.key = ?`,
  ),
  heldBy: statement<[{ sources: string; key: string; own: number; limit: number }], StoredRow>(
    `${HELD} AND h.product_key = @key AND r.id <> @own ORDER BY r.id LIMIT @limit`,
  ),
  heldByAny: statement<[{ sources: string; limit: number }], StoredRow>(
    `${HELD} AND h.product_key IS NULL ORDER BY r.id LIMIT @limit`,
  ),
};

/** The row that makes the product; undefined if no row does. */
export function rowOfProduct(reads: ViewReads, key: string): StoredRow | undefined {
  return ROWS.ofProduct(reads).get(key);
}

/** Rows in quarantine that belong to the product, besides its own row. */
export function heldSteps(reads: ViewReads, key: string, own: number | null): Step[] {
  const sources = JSON.stringify(reads.passportRules.sources);
  const rows = ROWS.heldBy(reads).all({ sources, key, own: own ?? 0, limit: ROWS_MAX });
  return rows.flatMap((row) => rowSteps(reads, row, 'a row that belongs to it'));
}

/** Rows in quarantine that may belong to any product. */
export function heldByAnySteps(reads: ViewReads): Step[] {
  const rows = ROWS.heldByAny(reads).all({ sources: JSON.stringify(reads.passportRules.sources), limit: ROWS_MAX });
  return rows.flatMap((row) => rowSteps(reads, row, 'a row that may belong to it'));
}

/**
 * The steps that explain what happened to a row.
 *
 * @param what the words for the row, such as `its row`
 */
export function rowSteps(reads: ViewReads, row: StoredRow, what: string): Step[] {
  if (row.lost === 0) return readSteps(row, what);
  const clause = `${NOT_READ} ${what}; it was at ${placeOf(row)}`;
  const { acceptedAt, isLeft, refusedBy } = SOURCES.guard(reads).get(row.source) ?? {};
  const cure = cureOfLostRow(row.source, { mayRefuse: acceptedAt === null && refusedBy === null && isLeft === 0 });
  // A passport only waits for the sources of parts.
  const standing = reads.passportRules.partSources.includes(row.source) ? 'stop' : 'unknown';
  return [step(standing, clause, { record: row.id, cure, command: `dpp-sync sync ${row.source}` })];
}

function placeOf({ source, stream, place }: StoredRow): string {
  return `${source}/${stream}, ${formatPlace(parseJson<Place>(place))}`;
}

/** The steps of a row that the last read had, or that is gone. */
function readSteps(row: StoredRow, what: string): Step[] {
  const { id, source, state, missing, partial } = row;
  const place = placeOf(row);
  const of = { record: id };
  if (missing === 1) {
    const cure = 'If the row should be there, correct the export. The next sync reads the row.';
    return [step('stop', `${what} is gone from its source; it was at ${place}`, { ...of, cure })];
  }
  switch (state) {
    case 'quarantined':
      return quarantineSteps(row, what, place).map((one) => (partial === 1 ? { ...one, standing: 'unknown' } : one));
    case 'excluded':
      return [
        step('stop', `no mapping uses ${what} (${place}): the condition \`when\` of each mapping is false for it`, {
          ...of,
          cure: 'If the row should become a product, correct the row or the condition.',
          command: `dpp-sync preview ${source}`,
        }),
      ];
    case 'mapped':
      return [step('ok', `${what} was read (${place}) and mapped`, of)];
    default:
      return [step('waits', `${what} was read (${place}) and is not mapped yet`, of)];
  }
}

function quarantineSteps(row: StoredRow, what: string, place: string): Step[] {
  const issues = parseJsonOrNull<Issue[]>(row.issues) ?? [];
  const steps = issues.slice(0, ISSUES_MAX).map((issue) =>
    step('stop', `${what} has an error (${place}): ${issueText(issue)}`, {
      record: row.id,
      advice: adviceOnIssue(issue, row.source),
    }),
  );
  if (steps.length > 0) return steps;
  return [step('stop', `${what} has an error (${place})`, { record: row.id, command: 'dpp-sync quarantine' })];
}

/** The message of an issue, with the field and the value if the message does not contain them. */
function issueText(issue: Issue): string {
  const { code, message, field } = issue;
  const words = message.replace(/[\s.]+$/, '');
  const shown = foundText(issue, (text) => text.slice(0, FOUND_MAX));
  const parts = [
    ...(field === undefined || words.includes(field) ? [] : [`field ${field}`]),
    ...(shown === '' || words.includes(shown) ? [] : [`found ${shown}`]),
    `rule ${code}`,
  ];
  return `${words} (${parts.join(', ')})`;
}

const DEPTH_MAX = 5;
const STEPS_MAX = 20;

/**
 * Makes the step of an item, and the steps of the items that it waits for. Each item is shown once, so that a circle of
 * refs ends.
 */
export function refSteps(reads: AnswerReads, of: StoredItem, what: string, seen: Set<string>): Step[] {
  return walk(reads, of, what, seen, DEPTH_MAX);
}

function walk(reads: AnswerReads, of: StoredItem, what: string, seen: Set<string>, depth: number): Step[] {
  seen.add(nameOf(of.kind, of.key));
  const own = deliveryStep(reads, of, what);
  if (of.state !== 'waiting') return [own];
  const steps = [own];
  for (const ref of of.refs) {
    if (steps.length >= STEPS_MAX) break;
    const target = itemOfRef(reads, ref);
    if (target !== null && target.remoteId !== null) continue;
    if (target === null) steps.push(...unknownSteps(reads, ref, of));
    else if (seen.has(nameOf(target.kind, target.key))) continue;
    else if (depth === 0) steps.push(deliveryStep(reads, target, namedItem(target)));
    else steps.push(...quarantinedSteps(target), ...walk(reads, target, namedItem(target), seen, depth - 1));
  }
  return steps;
}

/** The item to which a ref points. If the ref may be a material or a component, it is the one that has the key. */
function itemOfRef(reads: ViewReads, { kind, key, either }: RefStanding): StoredItem | null {
  return itemByKey(reads, kind, key) ?? (either === true ? itemByKey(reads, 'material', key) : null);
}

/** The item with this key; null if there is only another one with this natural key. A ref always names a key. */
function itemByKey(reads: ViewReads, kind: ItemKind, key: string): StoredItem | null {
  const view = itemOf(reads, kind, key);
  return view?.key === key ? view : null;
}

function unknownSteps(reads: AnswerReads, { kind, key, either }: RefStanding, { record, source }: StoredItem): Step[] {
  const what = either === true ? 'product or material' : kindWord(kind);
  const [row] = rowsNaming(reads, key);
  const from = record === null ? '' : `, and ${record.source}/${record.stream}, ${formatPlace(record.place)} names it`;
  const none = `the ${what} ${key} is in no file${from}`;
  const cause = source === null ? null : causeOfMissing(reads, source, { kind, either });
  if (row === undefined) {
    const cure = 'Add the missing row to its source, or correct the row that names it.';
    return [step('stop', none, { cure, cause, ...about(kind, key) })];
  }
  return rowSteps(reads, row, `the row of the ${what} ${key}`).map((one) =>
    one.standing === 'ok'
      ? step('stop', `no usable row gives the ${what} ${key}${from}`, { record: row.id, ...about(kind, key) })
      : { ...one, ...about(kind, key) },
  );
}

/** The steps for an item whose own row is in quarantine: that row has to be corrected. */
function quarantinedSteps({ kind, key, record }: StoredItem): Step[] {
  if ((record?.quarantined ?? null) === null) return [];
  return [step('unknown', `the row of the ${kindWord(kind)} ${key} has an error now`, about(kind, key))];
}

function nameOf(kind: string, key: string): string {
  return `${kind} ${key}`;
}

/** At most this many undelivered BOM items of a product are shown. */
const PARTS_MAX = 5;

const PARTS = `refs f JOIN items i ON i.id = f.item_id LEFT JOIN records r ON r.id = i.record_id
  WHERE f.kind = 'product' AND f.key = ? AND f.role = 'product' AND i.kind = 'bom_item' AND NOT ${needsNothing('i')}`;
// The same rule as for completeness: a BOM item that its source no longer has and that never reached the API does not count.
const IS_INCOMPLETE = `((${isOpen('i')} AND (i.missing_since IS NULL OR i.state IN ('due', 'sending', 'in_doubt') OR i.uncertain = 1))
  OR (r.state IN ('quarantined', 'pending', 'stale') AND r.missing_since IS NULL AND NOT (r.state = 'quarantined' AND r.partial = 1)))`;
const PART_SQL = {
  counts: statement<[string], { parts: number; incomplete: number | null }>(
    `SELECT count(*) AS parts, sum(${IS_INCOMPLETE}) AS incomplete FROM ${PARTS}`,
  ),
  incomplete: statement<[string, number], { key: string; recordState: string | null }>(
    `SELECT i.key, r.state AS recordState FROM ${PARTS} AND ${IS_INCOMPLETE} ORDER BY i.id LIMIT ?`,
  ),
};

/** The steps that show what the BOM items of a product wait for. */
export function partSteps(reads: AnswerReads, product: string, seen: Set<string>): Step[] {
  const { parts = 0, incomplete } = PART_SQL.counts(reads).get(product) ?? {};
  if (parts === 0) return [];
  const open = incomplete ?? 0;
  if (open === 0) {
    const all = parts === 1 ? 'its BOM item is' : `its ${parts} BOM items are`;
    return [step('ok', `${all} at the platform`)];
  }
  const shown = PART_SQL.incomplete(reads)
    .all(product, PARTS_MAX)
    .flatMap(({ key, recordState }) => {
      const part = itemOf(reads, 'bom_item', key);
      if (part === null) return [];
      const steps = refSteps(reads, part, `its BOM item ${key}`, seen);
      if (recordState === 'quarantined') {
        const clause = `its BOM item ${key} has a changed row with an error`;
        return [step('stop', clause, { ...about('bom_item', key), command: 'dpp-sync quarantine' }), ...steps];
      }
      if (recordState === 'pending' || recordState === 'stale') {
        return [
          step('waits', `its BOM item ${key} has a row that is not mapped yet`, about('bom_item', key)),
          ...steps,
        ];
      }
      return steps;
    });
  if (open <= PARTS_MAX) return shown;
  return [...shown, step('unknown', `${open - PARTS_MAX} more of its ${parts} BOM items are not delivered either`)];
}
