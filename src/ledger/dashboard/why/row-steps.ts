import { foundText, type Issue } from '../../../domain/issue.ts';
import type { PassportRules } from '../../../domain/passport.ts';
import { formatPlace, type Place } from '../../../domain/place.ts';
import { parseJson, parseJsonOrNull } from '../../store/context.ts';
import type { Sqlite } from '../../store/database.ts';
import { createNamedRows, ROW_COLUMNS, type StoredRow } from '../../views/named-rows.ts';
import { type Step, step } from './step.ts';

export interface RowSteps {
  /** The row that makes the product; undefined if no row does. */
  ofProduct(key: string): StoredRow | undefined;
  /** Rows in quarantine that belong to the product, besides its own row. */
  heldBy(key: string, own: number | null): Step[];
  /** Rows in quarantine that may belong to any product. */
  heldByAny(): Step[];
  /** The rows that contain a name that no item has. */
  naming(name: string): StoredRow[];
  /** The steps that explain what happened to a row. */
  stepsOf(row: StoredRow, what: string): Step[];
}

/** The beginning of the step of a row that a held read lacks. */
export const NOT_READ = 'the read that the guard holds does not have';

const ROWS_MAX = 5;
const ISSUES_MAX = 3;
/** The length to which a value is cut. */
const FOUND_MAX = 80;

export function createRowSteps(db: Sqlite, rules: PassportRules): RowSteps {
  const held = `SELECT ${ROW_COLUMNS} FROM holds h JOIN records r ON r.id = h.record_id
    JOIN streams s ON s.id = r.stream_id AND s.source IN (SELECT value FROM json_each(@sources))
    WHERE r.state = 'quarantined' AND r.missing_since IS NULL`;

  /** @param what the words for the row, such as `its row` */
  function rowSteps(row: StoredRow, what: string): Step[] {
    if (row.lost === 0) return readSteps(row, what);
    const clause = `${NOT_READ} ${what}; it was at ${placeOf(row)}`;
    const cure = `If the row should be there, correct the export. If it is gone, accept the read: \`dpp-sync sync --accept ${row.source}\`.`;
    // A passport only waits for the sources of parts.
    const standing = rules.partSources.includes(row.source) ? 'stop' : 'unknown';
    return [step(standing, clause, { record: row.id, cure, command: `dpp-sync sync ${row.source}` })];
  }

  const sql = {
    ofProduct: db.prepare<[string], StoredRow>(
      `SELECT ${ROW_COLUMNS} FROM items i JOIN records r ON r.id = i.record_id JOIN streams s ON s.id = r.stream_id
       WHERE i.kind = 'product' AND i.key = ?`,
    ),
    heldBy: db.prepare<[{ sources: string; key: string; own: number; limit: number }], StoredRow>(
      `${held} AND h.product_key = @key AND r.id <> @own ORDER BY r.id LIMIT @limit`,
    ),
    heldByAny: db.prepare<[{ sources: string; limit: number }], StoredRow>(
      `${held} AND h.product_key IS NULL ORDER BY r.id LIMIT @limit`,
    ),
  };

  const naming = createNamedRows(db);

  return {
    ofProduct: (key) => sql.ofProduct.get(key),
    heldBy: (key, own) =>
      sql.heldBy
        .all({ sources: JSON.stringify(rules.sources), key, own: own ?? 0, limit: ROWS_MAX })
        .flatMap((row) => rowSteps(row, 'a row that belongs to it')),
    heldByAny: () =>
      sql.heldByAny
        .all({ sources: JSON.stringify(rules.sources), limit: ROWS_MAX })
        .flatMap((row) => rowSteps(row, 'a row that may belong to it')),
    naming,
    stepsOf: rowSteps,
  };
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
  const steps = issues.slice(0, ISSUES_MAX).map((issue) => {
    const correct = issue.cure ?? 'Correct the row in the source, or the mapping. The next sync maps the row again.';
    return step('stop', `${what} is in quarantine (${place}): ${issueText(issue)}`, {
      record: row.id,
      cure: correct,
      command: `dpp-sync sync ${row.source}`,
    });
  });
  if (steps.length > 0) return steps;
  return [step('stop', `${what} is in quarantine (${place})`, { record: row.id, command: 'dpp-sync quarantine' })];
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
