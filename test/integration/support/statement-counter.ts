import Database from 'better-sqlite3';

type Method = 'run' | 'get' | 'all' | 'iterate';
const METHODS: readonly Method[] = ['run', 'get', 'all', 'iterate'];
/** A statement that stores many rows of values: an insert, or an update of rows `v`. */
const OF_MANY = /^(?:INSERT INTO \w+ \([^)]*\) VALUES \(|WITH v \([^)]*\) AS \(VALUES .*\)\s+UPDATE \w+ SET )/s;
/** How many rows `store/tx.ts` stores with one statement. */
const LARGEST = 64;
const ROWS = /VALUES (?:\((?:[^()]|\([^()]*\))*\)(?:, )?)+/;

/** Counts the statements that a piece of work runs, by their text. */
export interface StatementCount {
  /** Many rows that are stored one after the other, in parts of a fixed size, count as one statement. */
  statements: number;
  byText: ReadonlyMap<string, number>;
}

/** Runs a piece of work and counts the statements that this process runs meanwhile, in any database. */
export async function countStatements(work: () => unknown): Promise<StatementCount> {
  const db = new Database(':memory:');
  const prototype = Object.getPrototypeOf(db.prepare('SELECT 1')) as Record<Method, (...values: unknown[]) => unknown>;
  db.close();
  const originals = new Map(METHODS.map((method) => [method, prototype[method]]));
  const byText = new Map<string, number>();
  let last = { name: '', text: '' };
  for (const [method, original] of originals) {
    prototype[method] = function (this: Database.Statement, ...values: unknown[]) {
      const text = this.source;
      const isOfMany = OF_MANY.test(text);
      const name = isOfMany ? text.replace(ROWS, 'VALUES …') : text;
      // The largest part may come several times in a row. Any other that does is a loop.
      const isNext = isOfMany && name === last.name && (text !== last.text || text.split('), (').length === LARGEST);
      if (!isNext) byText.set(name, (byText.get(name) ?? 0) + 1);
      last = { name, text };
      return Reflect.apply(original, this, values);
    };
  }
  try {
    await work();
  } finally {
    for (const [method, original] of originals) prototype[method] = original;
  }
  return { statements: [...byText.values()].reduce((sum, count) => sum + count, 0), byText };
}
