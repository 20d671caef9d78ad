import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

const MATERIALS = { to: 'material', key: 'row.sku', fields: { code: 'row.sku', name: 'row.name' } };
const ROWS = Array.from({ length: 6 }, (_, at): Row => [`P-${at}`, `Pump ${at}`, '']);

type Row = readonly [sku: string, name: string, ...more: string[]];
interface Source {
  mappings?: readonly object[];
  key?: readonly string[];
}

const csv = (rows: readonly Row[]) => `${['sku,name,kind', ...rows.map((row) => row.join(','))].join('\n')}\n`;
const renamed = (rows: readonly Row[]) => rows.map(([sku, name, ...more]): Row => [sku, `${name} B`, ...more]);

const configOf = ({ mappings = [MATERIALS], key }: Source) => ({
  sources: [{ id: 'erp', connector: 'csv', options: { path: './p.csv', ...(key && { key }) }, mappings }],
});

async function start(rows: readonly Row[], source: Source = {}): Promise<void> {
  const sandbox = { gates: { materialData: { enabled: false }, productComplete: { enabled: false } } };
  world = await createWorld({ config: configOf(source), files: { 'p.csv': csv(rows) }, sandbox });
}

/** What a sync did: the counts of its run, how many materials it created, and what a person has to look at. */
async function synced(rows?: readonly Row[]) {
  if (rows !== undefined) world.write('p.csv', csv(rows));
  const before = materials().length;
  world.requests();
  const { fault, guarded, quarantined, missing, runs } = await world.sync();
  expect(fault).toBeNull();
  const [counts] = runs;
  const writes = Object.entries(world.requests()).filter(([operation]) => !/list|get/i.test(operation));
  const created = materials().length - before;
  return {
    changed: counts?.changed,
    created,
    guarded: guarded.length,
    quarantined,
    missing,
    missingRows: counts?.missing,
    writes: Object.fromEntries(writes),
  };
}

const materials = () => world.contents().materials;

function inLedger<T>(work: (db: Database.Database) => T): T {
  const db = new Database(join(world.folder, 'data/ledger.db'));
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Changes the ledger into one whose records an older version has stored: only the content identified the rows. */
function makeOld(): void {
  inLedger((db) => {
    db.exec(`UPDATE records SET key = hash || iif(key LIKE '%' || char(31) || '2', char(31) || '2', '');
      UPDATE streams SET identity = NULL`);
  });
}

const recordKeys = () =>
  inLedger((db) => db.prepare<[], string>('SELECT key FROM records ORDER BY length(key), key').pluck().all());

const configure = (source: Source) => {
  const file = readFileSync(world.configFile, 'utf8');
  const config = { ...(parse(file) as object), ...configOf(source) };
  world.write('dpp-sync.yaml', stringify(config));
};

const NOTHING = { changed: 0, created: 0, guarded: 0, quarantined: 0, missing: {}, missingRows: 0, writes: {} };
const ALL_CHANGED = { ...NOTHING, changed: ROWS.length, writes: { 'material.update': ROWS.length } };
const names = () => materials().map(({ name }) => name);

describe('a stream without `key`', () => {
  it('changes the materials of all rows that have changed, however many these are', async () => {
    await start(ROWS);
    await synced();
    expect(await synced(renamed(ROWS))).toEqual(ALL_CHANGED);
    expect(names()).toEqual(renamed(ROWS).map(([, name]) => name));
    expect(await synced()).toEqual(NOTHING);
  });

  it('quarantines a row that repeats a key later, and keeps the first one', async () => {
    await start(ROWS);
    await synced();
    const found = await synced([...ROWS, ['P-1', 'Another', '']]);
    expect(found).toMatchObject({ created: 0, guarded: 0, quarantined: 1, missing: {}, writes: {} });
    expect(await synced(ROWS)).toMatchObject({ ...NOTHING, quarantined: 0 });
  });

  // The twin contradicts the first row, or it makes the same item and differs only in a column that is not mapped.
  it.each<[string, Row, { first: number; later: number }]>([
    ['another name', ['P-0', 'A twin', ''], { first: 1, later: 1 }],
    ['another column', ['P-0', 'Pump 0', 'spare'], { first: 0, later: 1 }],
  ])('takes a key that is double in each read for one row in quarantine: %s', async (_, twin, { first, later }) => {
    await start([...ROWS, twin]);
    expect(await synced()).toMatchObject({ created: ROWS.length, guarded: 0, quarantined: first });
    expect(await synced([...renamed(ROWS), twin])).toMatchObject({ ...ALL_CHANGED, quarantined: later });
    expect(names()).toEqual(renamed(ROWS).map(([, name]) => name));
    expect(await synced()).toEqual({ ...NOTHING, quarantined: later });
    const { stdout } = await runHere(['quarantine', '-c', world.configFile]);
    expect(stdout).toMatch(
      /^p\.csv:8 .*\n.*p\.csv:2, .*\n *Name the columns that identify a row in `key` of the stream\./m,
    );
    // A key that is not double any more needs no person.
    expect(await synced(ROWS)).toMatchObject({ guarded: 0, quarantined: 0, missing: {}, writes: ALL_CHANGED.writes });
  });
});

describe('rows of several kinds with the same keys', () => {
  const PRODUCTS = {
    to: 'product',
    key: 'row.sku',
    when: 'row.kind == "P"',
    fields: { sku: 'row.sku', name: 'row.name' },
  };
  const OTHERS = { ...MATERIALS, when: 'row.kind == "M"' };
  const PARTS = {
    to: 'bom_item',
    key: 'row.sku',
    when: 'row.kind == "B"',
    refs: { product: 'row.sku', material: 'row.sku' },
    fields: { quantity: 'size(row.name)', unit: '"C62"' },
  };
  const rowsOf = (...kinds: string[]) =>
    kinds.flatMap((kind) => Array.from({ length: 40 }, (_, at): Row => [`${at}`, `Pump ${at}`, kind]));

  /** The form of the identity in which the keys did not contain the kind, and rows with one key were numbered. */
  const forgetKinds = () =>
    inLedger((db) => {
      db.exec("UPDATE streams SET identity = json_remove(identity, '$.hasKinds')");
      const records = db.prepare<[], { id: number; key: string }>('SELECT id, key FROM records ORDER BY id').all();
      db.exec('UPDATE records SET key = char(31) || id');
      const seen = new Map<string, number>();
      for (const { id, key } of records) {
        const [bare = ''] = key.split('\u001f');
        const at = (seen.get(bare) ?? 0) + 1;
        seen.set(bare, at);
        db.prepare('UPDATE records SET key = ? WHERE id = ?').run(at === 1 ? bare : `${bare}\u001f${at}`, id);
      }
    });

  it.each([
    { gone: 'material', kind: 'P', mappings: [PRODUCTS, OTHERS], rows: rowsOf('M', 'P') },
    { gone: 'product', kind: 'M', mappings: [PRODUCTS, OTHERS], rows: rowsOf('P', 'M') },
    { gone: 'bom_item', kind: 'P', mappings: [PRODUCTS, OTHERS, PARTS], rows: rowsOf('B', 'M', 'P') },
  ])('changes the rows of the kind $kind while a $gone is gone', async ({ kind, mappings, rows, gone }) => {
    await start(rows, { mappings });
    expect(await synced()).toMatchObject({ guarded: 0, quarantined: 0 });
    forgetKinds();
    expect(await synced()).toEqual(NOTHING);
    const later = rows.slice(1).map(([sku, name, of]): Row => [sku, of === kind ? `${name} B` : name, of ?? '']);
    const found = await synced(later);
    expect(found).toMatchObject({ changed: 40, guarded: 0, quarantined: 0, missing: { [gone]: 1 }, missingRows: 1 });
  });
});

describe('the reason of a row that contradicts another one', () => {
  const reasons = async () => (await runHere(['quarantine', '-c', world.configFile])).stdout;

  it('names another row after the guard has let go of it', async () => {
    await start(ROWS);
    await synced();
    expect(await synced(ROWS.slice(0, 3))).toMatchObject({ guarded: 1 });
    expect(await synced([...ROWS, ['P-4', 'Another', '']])).toMatchObject({ guarded: 0, quarantined: 1 });
    expect(await reasons()).toMatch(/^p\.csv:8 .*\n.*Another row makes the material "P-4".*: p\.csv:6, /m);
    expect(await reasons()).not.toMatch(/earlier export|--accept/);
  });

  it('names a row of an earlier export in the first read that the guard holds', async () => {
    // The former rows make a second material, which the new rows do not make.
    const second = {
      ...MATERIALS,
      key: 'row.sku + row.name',
      fields: { code: 'row.sku + row.name', name: 'row.name' },
    };
    await start(ROWS, { key: ['sku', 'name'], mappings: [MATERIALS, second] });
    await synced();
    for (let run = 0; run < 2; run += 1) {
      expect(await synced(renamed(ROWS))).toMatchObject({ guarded: 1, quarantined: ROWS.length });
      expect(await reasons()).toContain('comes from a row of an earlier export, p.csv:2');
      expect(await reasons()).not.toContain('Another row makes');
    }
  });
});

describe('rows that cannot be read', () => {
  // The name has a comma and no quotes, so the values after it are in wrong columns.
  const shifted = (rows: readonly string[]) => rows.map((row) => row.replace('Pump', 'Pump, big'));
  const rowsOf = (count: number) => Array.from({ length: count }, (_, at) => `Pump ${at},,P-${at}`);
  const write = (rows: readonly string[]) => world.write('p.csv', `${['name,kind,sku', ...rows].join('\n')}\n`);
  const advice = 'correct these rows before you decide about missing items';

  it.each([undefined, ['sku']])(
    'are the first thing to correct, before missing items are decided: key %j',
    async (key) => {
      await start([], key && { key });
      write(rowsOf(60));
      await synced();
      write([...rowsOf(58), ...shifted(rowsOf(60)).slice(58)]);
      expect(await synced()).toMatchObject({ guarded: 0, quarantined: 2, missing: { material: 2 }, writes: {} });
      expect((await runHere(['status', '-c', world.configFile])).stdout).toContain(advice);

      // One row that can be read is no whole export.
      write([...rowsOf(1), ...shifted(rowsOf(60)).slice(1)]);
      expect(await synced()).toMatchObject({ guarded: 1, quarantined: 59, missing: { material: 2 }, writes: {} });

      write(rowsOf(60));
      expect(await synced()).toMatchObject({ created: 0, guarded: 0, quarantined: 0, missing: {} });
      expect((await runHere(['status', '-c', world.configFile])).stdout).not.toContain(advice);
    },
  );
});

describe('a ledger of the version before', () => {
  it('has the same records under their keys, and sends nothing for an unchanged export', async () => {
    await start([...ROWS, ...ROWS.slice(0, 1), ['', 'No number', '']]);
    const first = await synced();
    makeOld();
    const { quarantined } = first;
    expect(await synced()).toEqual({ ...NOTHING, quarantined });
    expect(recordKeys()).toEqual(expect.arrayContaining(['P-0', 'P-0\u001f2', 'P-5']));
    expect(recordKeys()).toHaveLength(ROWS.length + 2);
  });

  it('changes the materials of all rows that have changed since', async () => {
    await start(ROWS);
    await synced();
    makeOld();
    expect(await synced(renamed(ROWS))).toEqual(ALL_CHANGED);
    expect(materials()).toHaveLength(ROWS.length);
  });

  it('changes the materials of all rows that have changed since, although one key is double', async () => {
    const twin: Row = ['P-0', 'A twin', ''];
    await start([...ROWS, twin]);
    await synced();
    makeOld();
    expect(await synced([...renamed(ROWS), twin])).toEqual({ ...ALL_CHANGED, quarantined: 1 });
    expect(materials()).toHaveLength(ROWS.length);
    expect(await synced()).toEqual({ ...NOTHING, quarantined: 1 });
  });

  it.each([true, false])(
    'sends the changes that contradicted their own former rows in a read that the guard held: %j',
    async (isOld) => {
      await start(ROWS);
      await synced();
      // A mapping with `each` has no key of the row, so the content identifies the rows.
      configure({
        mappings: [{ ...MATERIALS, each: '[row.sku]', key: 'item', fields: { code: 'item', name: 'row.name' } }],
      });
      expect(await synced()).toEqual({ ...NOTHING, changed: ROWS.length });
      expect(recordKeys()).toHaveLength(ROWS.length);
      expect(await synced(renamed(ROWS))).toMatchObject({ guarded: 1, quarantined: ROWS.length, writes: {} });
      const { stdout } = await runHere(['quarantine', '-c', world.configFile]);
      expect(stdout).toContain('comes from a row of an earlier export, p.csv:2');
      expect(stdout).toMatch(/^ *Name the columns that identify a row in `key` of the stream\..*--accept erp/m);
      configure({});
      if (isOld) makeOld();
      const after = await synced();
      expect(after).toMatchObject({
        guarded: 0,
        quarantined: 0,
        missing: {},
        missingRows: 0,
        writes: ALL_CHANGED.writes,
      });
      expect(names()).toEqual(renamed(ROWS).map(([, name]) => name));
    },
  );
});

describe('records get other keys without being new or missing', () => {
  it('when the config names key columns, names others, or names none again', async () => {
    await start(ROWS);
    await synced();
    for (const key of [['sku', 'name'], ['name'], undefined]) {
      configure({ ...(key && { key }) });
      expect(await synced()).toEqual(NOTHING);
      expect(recordKeys()).toHaveLength(ROWS.length);
    }
    expect(recordKeys()).toContain('P-5');
  });

  it('when the mapping that identifies the rows has another key', async () => {
    await start(ROWS);
    await synced();
    configure({ mappings: [{ ...MATERIALS, key: 'row.name' }] });
    // A material keeps the key under which it was delivered, so the rows are quarantined, as with key columns.
    expect(await synced()).toEqual({ ...NOTHING, quarantined: ROWS.length });
    expect(recordKeys()).toHaveLength(ROWS.length);
    expect(recordKeys()).toContain('Pump 5');
    configure({});
    expect(await synced(renamed(ROWS))).toEqual(ALL_CHANGED);
  });

  it('when the change of the keys was interrupted', async () => {
    await start(ROWS);
    await synced();
    inLedger((db) => {
      db.exec(`UPDATE streams SET identity = '{"by":"unknown"}'`);
      // Two records have changed their keys, and one has lost its key to another record.
      db.exec("UPDATE records SET key = char(31) || id WHERE key IN ('P-1', 'P-2')");
      db.exec("UPDATE records SET key = 'P-1' WHERE key = 'P-3'");
    });
    expect(await synced(renamed(ROWS))).toEqual(ALL_CHANGED);
    expect(recordKeys()).toEqual(ROWS.map(([sku]) => sku).toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1)));
  });
});

describe('check', () => {
  const checked = async () => {
    const { sources } = (await runHere(['check', '--json', '-c', world.configFile])).json() as {
      sources: { identity?: string; warnings?: string[] }[];
    };
    return [sources[0]?.identity, ...(sources[0]?.warnings ?? [])].map((text) => text?.split(/[.:] /)[0]);
  };

  it('says what identifies the rows, before and after the first read, and warns where only the content does', async () => {
    await start(ROWS);
    expect(await checked()).toEqual(['The next complete read decides what identifies a row']);
    await synced();
    expect(await checked()).toEqual(['A row is identified by the key of sources[0].mappings[0] (row.sku).']);
    expect((await runHere(['check', '-c', world.configFile])).stdout).toContain('mappings[0] (row.sku).\n');
    configure({ key: ['sku'] });
    expect(await checked()).toEqual([undefined]);
    configure({ mappings: [{ ...MATERIALS, key: 'row.kind' }] });
    expect(await checked()).toEqual(['The next complete read decides what identifies a row']);
    await synced(ROWS.map(([sku, name]) => [sku, name, 'pump']));
    expect(await checked()).toEqual([
      undefined,
      'The content of a row identifies it, because no key was unique in the complete read that has decided',
    ]);
    configure({ mappings: [{ ...MATERIALS, each: '[row.sku]', key: 'item' }] });
    expect(await checked()).toEqual([
      undefined,
      'The content of a row identifies it, because no mapping of the stream has one key for each row that depends on the row alone',
    ]);
  });
});
