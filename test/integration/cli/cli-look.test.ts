import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { cli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { claimOne, settleOne } from '../../support/ledger/deliveries.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { pullAndMap, row } from '../../support/ledger/records.ts';
import { withLedger } from '../../support/ledger/world-ledger.ts';
import { EXPORT_SOURCES, FLAWED_FILES } from '../../support/worlds/cli-export.ts';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

let world: World;

beforeAll(async () => {
  world = await createWorld({ config: { sources: EXPORT_SOURCES }, files: FLAWED_FILES });
});
afterAll(() => world.remove());

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);

describe('before the first sync', () => {
  it('before the first sync preview shows records beside items and issues, and stores nothing', async () => {
    const { exitCode, json } = await run('preview', 'erp', '--stream', 'products', '--limit', '2', '--json');
    expect(exitCode).toBe(0);
    expect(json()).toMatchObject({
      ok: true,
      source: 'erp',
      streams: [
        {
          stream: 'products',
          records: [
            {
              place: { file: 'products.csv', line: 2 },
              key: '1',
              fields: { SKU: 'A-1' },
              status: 'mapped',
              items: [{ kind: 'product', key: '1', payload: { sku: 'A-1', name: 'Pump', country_of_origin: 'DE' } }],
            },
            { status: 'quarantined', items: [], issues: [{ field: 'country_of_origin', value: 'XX' }] },
          ],
        },
      ],
    });
    const people = await run('preview', 'erp');
    expect(people.stdout).toContain('erp/boms  2 records: 2 mapped');
    expect(people.stdout).toMatch(/SKU +A-1 +│ +sku +A-1/);
    expect(existsSync(join(world.folder, 'data'))).toBe(false);
    expect(world.requests()).toEqual({});
  });

  it('before the first sync preview ends with 2 for a stream that does not exist', async () => {
    const { exitCode, stderr } = await run('preview', 'erp', '--stream', 'product');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Did you mean products?');
  });

  it('before the first sync status, items and quarantine say that there is no ledger yet, and end with 0', async () => {
    expect(await run('status')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('no ledger yet') });
    expect((await run('status', '--json')).json()).toMatchObject({ ok: true, ledger: { exists: false } });
    for (const command of ['items', 'quarantine']) {
      const { exitCode, stdout, stderr } = await run(command);
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
      expect(stderr).toMatch(/no ledger yet .* sync`\.$/m);
    }
    expect(existsSync(join(world.folder, 'data'))).toBe(false);
  });
});

describe('after a sync', () => {
  beforeAll(async () => {
    expect(exitCodeOf(await world.sync())).toBe(4);
  });

  it('status counts the items and ends with 4', async () => {
    const { exitCode, json } = await run('status', '--json');
    expect(exitCode).toBe(4);
    const counts = [
      'items',
      'passports',
      'quarantined',
      'warnings',
      'guarded',
      'held',
      'productsInQuarantine',
      'missing',
      'missingOutcomes',
      'paddedKeys',
      'formerSources',
      'suspended',
      'refused',
      'causes',
      'waitingFor',
      'duplicates',
      'otherForms',
    ];
    const ofContact = ['adopted', 'unansweredParts', 'unproven', 'apiWait', 'deferred', 'imports'];
    const ofDaemon = [
      'failedRuns',
      'stuck',
      'awaitingReadBack',
      'version',
      'startedAt',
      'running',
      'requestsPerSecond',
      'status',
      'api',
      'pausedQueues',
      'lastReload',
    ];
    expect(Object.keys(json())).toEqual([
      'ok',
      'ledger',
      ...counts,
      ...ofContact,
      'queue',
      'deliveries',
      'left',
      'reload',
      'backup',
      'sources',
      ...ofDaemon,
    ]);
    expect(json()).toMatchObject({
      ok: false,
      items: { product: { delivered: 1 }, bom_item: { delivered: 1, waiting: 1 } },
      quarantined: 2,
      waitingFor: [{ kind: 'product', key: '2', count: 1 }],
      queue: { kind: 'embedded', counts: null },
      sources: [{ source: 'erp', lastRun: { result: 'complete' }, nextRunAt: null, pausedUntil: null }],
    });
  });

  it('status names the place of the queue, and asks nothing about it', async () => {
    const { stdout } = await run('status');
    expect(stdout.split('\n')).toContain('Queue: embedded, in the process that syncs');
  });

  it('items gives a JSON object a line, filtered', async () => {
    const lines = async (...args: string[]) =>
      (await run('items', '--json', ...args)).stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { kind: string; key: string });
    expect(await lines()).toHaveLength(4);
    expect(await lines('--kind', 'bom-item', '--state', 'waiting')).toMatchObject([{ kind: 'bom_item', key: '2' }]);
    expect(await lines('--search', 'pum')).toMatchObject([{ naturalKey: 'A-1' }]);
    expect(await lines('--limit', '2')).toHaveLength(2);
    const { stdout, stderr } = await run('items', '--limit', '1');
    expect(stdout).toContain('A-1');
    expect(stderr).toContain('There are more');
  });

  it('show prints the history of an item, by key or natural key', async () => {
    const { stdout } = await run('show', 'product', 'A-1');
    for (const part of ['delivered', 'erp/products, products.csv:2', 'SKU', 'staged product.create, revision 1']) {
      expect(stdout).toContain(part);
    }
    const waiting = (await run('show', 'bom_item', '2', '--json')).json();
    expect(waiting).toMatchObject({
      ok: true,
      item: {
        state: 'waiting',
        refs: expect.arrayContaining([{ role: 'product', kind: 'product', key: '2', state: null }]),
      },
    });
  });

  it('show ends with 2 for an item that is not there', async () => {
    const { exitCode, json } = await run('show', 'product', 'A-9', '--json');
    expect(exitCode).toBe(2);
    expect(json()).toMatchObject({ ok: false, error: { code: 'item.unknown', path: null } });
  });

  it.each([
    [['show', 'product', '3'], 'product "3"', 'why 3'],
    [['show', 'product', 'A-3'], 'product "A-3"', 'why A-3'],
    [['show', 'material', '3'], 'material "3"', 'quarantine --source erp'],
    [['pdf', 'product 3'], 'product "product 3"', 'why 3'],
    [['publish', 'A-3'], 'product "A-3"', 'why A-3'],
  ])('%j says that the key is one of a row in quarantine, and guesses no other key', async (args, what, command) => {
    const { exitCode, stderr } = await run(...args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`There is no ${what} in the ledger: its row has an error (erp/products, products.csv:4).`);
    expect(stderr).toMatch(new RegExp(`What is wrong with the row: \`.*dpp-sync.* ${command}\`\\.`));
    expect(stderr).not.toContain('Did you mean');
  });

  it('quarantine lists place, column, field, value, rule and cure', async () => {
    const { exitCode, stdout } = await run('quarantine', '--json');
    expect(exitCode).toBe(0);
    const records = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(records).toMatchObject([
      {
        source: 'erp',
        stream: 'products',
        key: '2',
        place: { file: 'products.csv', line: 3 },
        fields: { COUNTRY: 'XX' },
        issues: [{ code: expect.any(String), field: 'country_of_origin', value: 'XX' }],
      },
      { key: '3', issues: [{ code: 'field.required', cure: expect.stringContaining('NAME') }] },
    ]);
    const people = await run('quarantine', '--limit', '1');
    expect(people.stdout).toContain('products.csv:3');
    expect(people.stdout).toContain('✗ column COUNTRY (country_of_origin): "XX" is not a country code');
    expect(people.stderr).toContain('1 record more');
  });

  it('quarantine --out writes the original rows, harmless in a spreadsheet, for the owner alone', async () => {
    const file = join(world.folder, 'wrong.csv');
    const { exitCode, json } = await run('quarantine', '--out', file, '--json');
    expect(exitCode).toBe(0);
    expect(json()).toEqual({ ok: true, file, records: 2 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, 'utf8');
    const rows = parse(text, { bom: true, columns: true }) as Record<string, string>[];
    expect(Object.keys(rows[0] ?? {})).toEqual(['ID', 'SKU', 'NAME', 'COUNTRY', 'file', 'line', 'issues']);
    expect(rows).toMatchObject([
      { ID: '2', SKU: 'A-2', NAME: `'=cmd|' /C calc'!A0`, file: 'products.csv', line: '3' },
      { ID: '3', line: '4', issues: expect.stringMatching(/^column NAME: name is required/) },
    ]);
  });

  it('quarantine --out ends with 2 where the file cannot be written, and leaves nothing behind', async () => {
    const { exitCode, stderr } = await run('quarantine', '--out', join(world.folder, 'nowhere', 'x.csv'));
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--out');
  });

  it('replay --force needs --key, and unknown states are reported', async () => {
    expect((await run('replay', '--force', '--json')).json()).toMatchObject({ ok: false, error: { code: 'usage' } });
    const { exitCode, stderr } = await run('replay', '--state', 'broken');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('quarantined');
  });

  it('replay --key ends with 2 for what neither an item nor a quarantined record is called, before it does anything', async () => {
    for (const more of [[], ['--dry-run'], ['--force'], ['--key', 'A-1']]) {
      const { exitCode, json } = await run('replay', '--key', 'A-9', '--json', ...more);
      expect(exitCode).toBe(2);
      expect(json()).toMatchObject({
        ok: false,
        error: { code: 'item.unknown', message: expect.stringContaining('"A-9"') },
      });
    }
    expect((await run('replay', '--key', 'A-')).stderr).toContain('Did you mean 1?');
    const dryRun = async (key: string) => (await run('replay', '--dry-run', '--json', '--key', key)).json();
    // A delivered item, named by its key and by its natural key: there is nothing to do. Then the key of a quarantined record.
    expect(await dryRun('1')).toMatchObject({ ok: true, records: 0 });
    expect(await dryRun('A-1')).toMatchObject({ ok: true, records: 0 });
    expect(await dryRun('3')).toMatchObject({ ok: true, records: 1 });
  });

  it('replay --dry-run says what would pass with a corrected mapping and changes nothing; replay then sends it', async () => {
    const before = (await run('replay', '--dry-run', '--json')).json();
    expect(before).toMatchObject({ ok: true, dryRun: true, records: 2, passing: 0 });
    const [source] = EXPORT_SOURCES;
    const mappings = source?.mappings.map((mapping) =>
      mapping.stream === 'products'
        ? { ...mapping, fields: { sku: 'row.SKU', name: 'row.NAME == "" ? row.SKU : row.NAME' } }
        : mapping,
    );
    const target = { baseUrl: world.baseUrl, apiKey: API_KEY };
    world.write('dpp-sync.yaml', stringify({ target, ledger: './data/ledger.db', sources: [{ ...source, mappings }] }));

    const dry = await run('replay', '--state', 'quarantined', '--dry-run');
    expect(dry.exitCode).toBe(0);
    expect(dry.stdout).toContain('2 would pass');
    expect(world.contents().products).toHaveLength(1);

    const real = await cli(['replay', '--state', 'quarantined', '--json', '-c', world.configFile]);
    expect(real.json()).toMatchObject({
      ok: true,
      dryRun: false,
      records: 2,
      passing: 2,
      items: { product: { delivered: 3 } },
    });
    expect(real.exitCode).toBe(0);
    expect(world.contents().bomItems).toHaveLength(2);
    expect((await run('status')).exitCode).toBe(0);
  });
});

it('status shows since when the API could not take what is due, and ends with 0 as the next sync sends it', async () => {
  const away = await createWorld({
    config: { sources: [PRODUCTS.source] },
    files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
    target: { firstContact: 'assume-empty' },
  });
  try {
    await away.sandbox.close();
    expect((await away.sync({ waitMs: 300 })).fault).toMatchObject({ code: 'api.unreachable' });
    const { exitCode, stdout } = await runHere(['status', '-c', away.configFile]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /(1 delivery|2 deliveries) could not be sent since 20\d\d-.*: The API refused the connection/,
    );
    const { deferred } = (await runHere(['status', '-c', away.configFile, '--json'])).json();
    expect(deferred).toMatchObject({ message: 'The API refused the connection (ECONNREFUSED).' });
  } finally {
    await away.remove();
  }
});

it('status counts the items that are still sent, and asks nobody about unconfirmed writes that are looked up automatically', async () => {
  const killed = await createWorld({ config: { sources: EXPORT_SOURCES }, files: FLAWED_FILES });
  try {
    await withLedger(killed, async (ledger) => {
      await pullAndMap(ledger, [row('1'), row('2'), row('3')], ({ id }) => items(product(text(id))));
      const [lost, unknown] = await ledger.dueDeliveries({ afterId: 0, limit: 2 });
      const inDoubt = async (deliveryId = 0, nextLookAt: number | null = null) => {
        await claimOne(ledger, deliveryId);
        const reason: Reason = { code: 'reset', message: 'The connection was lost.' };
        await settleOne(ledger, { id: deliveryId, decision: { kind: 'unconfirmed', nextLookAt, spend: true, reason } });
      };
      await inDoubt(lost?.id, Date.now());
      await inDoubt(unknown?.id);
    });
    const { exitCode, stdout } = await runHere(['status', '-c', killed.configFile]);
    expect(exitCode).toBe(4);
    expect(stdout).toContain('1 item is due. A running daemon or sync sends it, or else the next sync does.');
    expect(stdout).toContain('1 item was sent, and no answer shows whether it arrived.');
    expect(stdout).toContain('1 item needs a person:\n  product 2 ');
  } finally {
    await killed.remove();
  }
});
