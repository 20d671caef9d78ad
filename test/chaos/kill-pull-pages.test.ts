// A pull is killed at every page, for every connector: each run stores one page, and is killed just before it stores the next
// one.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BUILT_IN } from '../../connectors/index.ts';
import type { ConnectorFixtures, Settings } from '../../src/sdk/testing/index.ts';
import { fixturesOf } from '../support/connectors/connector-fixtures.ts';
import { temporaryFolder } from '../support/connectors/connector-reader.ts';
import { sqliteFixtures } from '../support/connectors/database-fixtures.ts';
import { IS_FULL } from '../support/runner/chaos.ts';
import { contentsOf } from '../support/worlds/page-world.ts';

const CHILD = join(import.meta.dirname, 'support/killed-pull-child.ts');
/** Three pages. */
const ROWS = 1_500;
const RUNS_MAX = 10;

const MODES = IS_FULL ? (['changes', 'snapshot'] as const) : (['changes'] as const);

/** Processes that read a REST source are killed in odata-deltas.test.ts. */
const KILLED = Object.keys(BUILT_IN).filter((id) => id !== 'rest');

/** The key of rows that do not have it as `id`. */
const KEYS: Readonly<Record<string, string>> = { bmecat: 'SUPPLIER_PID', gdsn: 'gtin', 'sap-idoc': 'MATNR' };

function fixturesFor(id: string, mode: 'changes' | 'snapshot', folder: string): ConnectorFixtures {
  if (id !== 'sql') return fixturesOf(id, mode);
  return sqliteFixtures(folder, mode === 'changes' ? { watermark: 'updated_at' } : {});
}

interface Pulled extends Settings {
  folder: string;
  id: string;
}

/**
 * Starts one process after another until one of them has read everything. Returns how many were killed. A snapshot begins
 * again in each run, and the pages that are already stored count as unchanged.
 */
function pullUntilComplete({ folder, id, options, stream }: Pulled): number {
  for (let killed = 0; killed < RUNS_MAX; killed += 1) {
    const settings = JSON.stringify({ options, stream });
    const args = [CHILD, folder, id, settings, KEYS[id] ?? 'id'];
    const { signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    if (stdout === 'complete') return killed;
    expect(signal, stderr).toBe('SIGKILL');
  }
  throw new Error(`The pull was not complete after ${RUNS_MAX} runs.`);
}

describe.each(MODES)('a pull of %s that is killed at every page', (mode) => {
  it.each(KILLED)('a killed pull stores each %s record once', async (id) => {
    await using folder = await temporaryFolder();
    const large = await fixturesFor(id, mode, folder.path).large(ROWS, folder.path);
    const killed = pullUntilComplete({ folder: folder.path, id, ...large });
    expect(killed).toBeGreaterThanOrEqual(2);

    const { records = [], run_streams: runs = [] } = contentsOf(join(folder.path, 'ledger.db'));
    const contents = records.map((record) => (record as { raw: string }).raw);
    expect(new Set(contents).size).toBe(ROWS);
    expect(contents.length).toBe(ROWS);
    // The first read of a database is a snapshot as well.
    const continues = mode === 'changes' && id !== 'sql';
    const counts = runs.map((run) => run as { read: number; unchanged: number });
    const once = counts.map(({ read, unchanged }) => (continues ? read : read - unchanged));
    expect(once.reduce((sum, rows) => sum + rows, 0)).toBe(ROWS);
  });
});
