import type Database from 'better-sqlite3';

/** Facts about the ledger itself, by name. */
export interface Meta {
  get(name: string): string | null;
  set(name: string, value: string): void;
  remove(name: string): void;
  getOrCreate(name: string, create: () => string): string;
}

export function createMeta(db: Database.Database): Meta {
  const read = db.prepare<[string], { value: string }>('SELECT value FROM meta WHERE name = ?');
  const get = (name: string) => read.get(name)?.value ?? null;
  const set = (name: string, value: string) =>
    void db
      .prepare<[string, string]>(
        'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
      )
      .run(name, value);
  return {
    get,
    set,
    remove: (name) => void db.prepare<[string]>('DELETE FROM meta WHERE name = ?').run(name),
    getOrCreate(name, create) {
      const found = get(name);
      if (found !== null) return found;
      const value = create();
      set(name, value);
      return value;
    },
  };
}
