import type { Database, RunResult, Statement } from 'better-sqlite3';

/**
 * A statement that SQLite compiles at its first use. The ledger has several hundred statements, and a command or a test
 * uses a few of them: compiling all would take most of the time to open a ledger. An error in the SQL is thrown at the
 * first use.
 */
class LazyStatement implements Statement<unknown[]> {
  readonly database: Database;
  readonly source: string;
  private readonly prepare: Database['prepare'];
  /** What to call on the statement when it is compiled, in order. */
  private settings: ((statement: Statement) => void)[] = [];
  private compiled: Statement | null = null;

  constructor(database: Database, prepare: Database['prepare'], source: string) {
    this.database = database;
    this.prepare = prepare;
    this.source = source;
  }

  run(...params: unknown[]): RunResult {
    return (this.compiled ?? this.compile()).run(...params);
  }

  get(...params: unknown[]): unknown {
    return (this.compiled ?? this.compile()).get(...params);
  }

  all(...params: unknown[]): unknown[] {
    return (this.compiled ?? this.compile()).all(...params);
  }

  iterate(...params: unknown[]): IterableIterator<unknown> {
    return (this.compiled ?? this.compile()).iterate(...params);
  }

  pluck(on = true): this {
    return this.set((statement) => void statement.pluck(on));
  }

  expand(on = true): this {
    return this.set((statement) => void statement.expand(on));
  }

  raw(on = true): this {
    return this.set((statement) => void statement.raw(on));
  }

  safeIntegers(on = true): this {
    return this.set((statement) => void statement.safeIntegers(on));
  }

  bind(...params: unknown[]): this {
    return this.set((statement) => void statement.bind(...params));
  }

  columns(): ReturnType<Statement['columns']> {
    return (this.compiled ?? this.compile()).columns();
  }

  get reader(): boolean {
    return (this.compiled ?? this.compile()).reader;
  }

  get readonly(): boolean {
    return (this.compiled ?? this.compile()).readonly;
  }

  get busy(): boolean {
    return this.compiled?.busy ?? false;
  }

  private set(setting: (statement: Statement) => void): this {
    if (this.compiled === null) this.settings.push(setting);
    else setting(this.compiled);
    return this;
  }

  private compile(): Statement {
    const statement = this.prepare(this.source);
    for (const setting of this.settings) setting(statement);
    this.settings = [];
    this.compiled = statement;
    // From now on the calls go straight to the statement: passing the arguments on takes a sixteenth of the time of a sync.
    this.run = statement.run.bind(statement);
    this.get = statement.get.bind(statement);
    this.all = statement.all.bind(statement);
    return statement;
  }
}

/** Has the statements of a database compiled at their first use. */
export function compileLazily(db: Database): void {
  const prepare = db.prepare.bind(db);
  db.prepare = ((source: string) => new LazyStatement(db, prepare, source)) as Database['prepare'];
}
