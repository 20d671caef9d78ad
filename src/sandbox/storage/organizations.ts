import type { Database } from 'better-sqlite3';
import { z } from 'zod';

/** The plan of an organisation. Only `enterprise` has access to the API. */
export const PLANS = ['enterprise', 'standard'] as const;
export type Plan = (typeof PLANS)[number];

/** Stores the organisations. */
export function createOrganizationStore(database: Database) {
  const add = database.prepare(
    `INSERT INTO organization (name, plan) VALUES (?, 'enterprise') ON CONFLICT (name) DO NOTHING`,
  );
  const find = database.prepare<[string], number>('SELECT id FROM organization WHERE name = ?').pluck();
  const setPlan = database.prepare('UPDATE organization SET plan = ? WHERE name = ?');
  const list = database.prepare<[], { id: number; name: string; plan: Plan }>(
    'SELECT id, name, plan FROM organization ORDER BY id',
  );
  const ensure = (name: string): number => {
    add.run(name);
    return find.get(name) ?? 0;
  };
  return {
    /** The number of an organisation. A new organisation gets the enterprise plan. */
    ensure,
    find: (name: string): number | undefined => find.get(name),
    setPlan(name: string, plan: Plan): void {
      ensure(name);
      setPlan.run(z.enum(PLANS).parse(plan), name);
    },
    list: (): { id: number; name: string; plan: Plan }[] => list.all(),
  };
}

export type OrganizationStore = ReturnType<typeof createOrganizationStore>;
