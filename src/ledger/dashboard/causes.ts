import { NO_REASON, storedReason } from '../../domain/delivery/reason.ts';
import { foundText, type Issue } from '../../domain/issue.ts';
import type { Cause, CauseNote, DashboardViews } from '../../domain/ports/ledger/dashboard-views.ts';
import { sentence } from '../../lib/text/sentence.ts';
import { parseJsonOrNull } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';
import { cureOfReason, titleOfIssue, titleOfReason } from './cause-text.ts';
import type { FailedRuns } from './failed-runs.ts';
import { createHeldPassports, newBudget } from './held-passports.ts';
import { type ItemGroup, type RecordGroup, stuckGroups } from './stuck-groups.ts';

const EXAMPLE_MAX = 200;

/** Groups stuck items and records by cause. `now` gives milliseconds of a clock that is never set back. */
export function createCauses(
  db: Sqlite,
  failedRuns: () => FailedRuns[],
  now: () => number,
): Pick<DashboardViews, 'causes' | 'cause'> {
  const held = createHeldPassports(db, now);
  const sql = {
    issues: db.prepare<[number], string | null>('SELECT issues FROM records WHERE id = ?').pluck(),
    item: db.prepare<[number], { reason: string | null; key: string }>('SELECT reason, key FROM items WHERE id = ?'),
    notes: db.prepare<[], CauseNote & { cause: string }>(
      'SELECT cause, text, owner, noted_by AS by, noted_at AS at FROM cause_notes',
    ),
  };

  function ofRecords(group: RecordGroup): Omit<Cause, 'note' | 'passportsHeld'> {
    const { id, type, source, stream, count, since, until, firstId } = group;
    const code = group.code ?? 'unknown';
    const [first] = parseJsonOrNull<Issue[]>(sql.issues.get(firstId) ?? null) ?? [];
    const issue: Issue = first ?? { code, message: 'No reason was kept.' };
    const value = issue.value === undefined ? null : shown(foundText(issue));
    const common = { id, type, source, stream, code, field: group.field, count };
    const seen = { firstSeenAt: since, lastSeenAt: until };
    return { ...common, ...seen, title: titleOfIssue(issue), cure: issue.cure ?? null, example: value };
  }

  function ofItems(group: ItemGroup): Omit<Cause, 'note' | 'passportsHeld'> {
    const { id, type, source, count, since, until, firstId } = group;
    const item = sql.item.get(firstId);
    const reason = storedReason(item?.reason ?? null) ?? { ...NO_REASON, message: 'No reason was kept.' };
    const [field = null] = Object.keys(reason.fields ?? {});
    const common = { id, type, source, stream: null, code: reason.code, field, count };
    const seen = { firstSeenAt: since, lastSeenAt: until };
    return { ...common, ...seen, title: titleOfReason(reason), cure: cureOfReason(reason), example: item?.key ?? null };
  }

  function all(): Cause[] {
    const notes = new Map(sql.notes.all().map(({ cause, ...note }) => [cause, note]));
    const budget = newBudget();
    const stuck = stuckGroups({ db }).map((group): Cause => {
      const cause = group.type === 'quarantine' ? ofRecords(group) : ofItems(group);
      return { ...cause, passportsHeld: held(group, budget), note: notes.get(cause.id) ?? null };
    });
    const runs = failedRuns().map(({ id, source, error, count, since, until }): Cause => {
      const note = notes.get(id) ?? null;
      const title = `The last run of ${source} failed.`;
      const common = { id, type: 'run' as const, source, stream: null, code: 'run.failed', field: null };
      const cure = 'Correct the cause that the error names, and run the source again.';
      const example = error === null ? null : shown(sentence(error));
      const seen = { firstSeenAt: since, lastSeenAt: until };
      return { ...common, ...seen, title, cure, count, passportsHeld: null, note, example };
    });
    return [...stuck, ...runs].sort((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1));
  }

  return {
    causes: ({ source, type }) =>
      all().filter(
        (cause) => (source === undefined || cause.source === source) && (type === undefined || cause.type === type),
      ),
    cause: (id) => all().find((cause) => cause.id === id) ?? null,
  };
}

function shown(text: string): string {
  return text.length <= EXAMPLE_MAX ? text : `${text.slice(0, EXAMPLE_MAX - 1)}…`;
}
