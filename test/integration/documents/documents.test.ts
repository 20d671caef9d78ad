// The documents of `--json` with their exit codes, and the answers of the HTTP API, over a fixed set of ledgers. Scripts
// rely on them, so a change may only add members. All times are ISO 8601 in UTC. `npx vitest run FILE -u` writes all
// snapshots again; read the difference.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { API_OPERATIONS } from '../../../src/web/api/api-routes.ts';
import { cli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { EXPORT_SOURCES, FLAWED_FILES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createDashboardWorld, ODD_KEY, serveDashboardWorld } from '../../support/worlds/dashboard-world.ts';
import {
  createAtPlatform,
  createSettleWorld,
  PRODUCT_P1,
  stageLostAnswers,
  syncThenBlock,
} from '../../support/worlds/settle-world.ts';
import { SMALL, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';
import { plainValues } from './plain-values.ts';

/** A step changes the world, or is a command line without its global options. */
type Step = string | readonly string[] | ((world: World) => unknown);

interface FixedLedger {
  name: string;
  make(): Promise<World>;
  steps: readonly Step[];
}

/** Commands that only read. */
const LOOK = [
  'status',
  'items',
  'items --state missing',
  'items --kind passport',
  'items --search P --limit 2',
  'quarantine',
  'replay --dry-run',
  'ledger verify',
];

const passports = { init: 'when-complete', publish: 'manual' };

const LEDGERS: readonly FixedLedger[] = [
  {
    name: 'before the first sync',
    make: () => createWorld({ config: { sources: EXPORT_SOURCES }, files: FLAWED_FILES }),
    steps: [
      ...LOOK,
      'check',
      'preview erp --limit 2',
      'preview erp --stream products --no-counts',
      'show product 1',
      'why A-1',
      'alerts list',
      // Failures.
      'preview erp --stream product',
      'sync eprx',
      'items --state unknown',
      'itemss',
      (world) => world.write('broken.yaml', 'target: { baseUrl: "http://example.com" }\nsources: 1\n'),
      'status -c broken.yaml',
      'sync -c absent.yaml',
    ],
  },
  {
    name: 'rows in quarantine, and missing items',
    make: () => createWorld({ config: { sources: EXPORT_SOURCES }, files: FLAWED_FILES }),
    steps: [
      'sync',
      'sync',
      ...LOOK,
      'show product 1',
      'show product 2',
      'show bom_item 2',
      'why A-1',
      'why A-2',
      'why A-9',
      'quarantine --out rows.csv',
      (world) => {
        world.writeAll(GOOD_FILES);
        world.write('materials.csv', 'ID,NAME\n');
      },
      'sync',
      'sync --accept erp',
      ...LOOK,
      'settle 900 --ignore',
      'status',
      'ledger backup copy.db',
      'ledger verify copy.db',
      'ledger restore copy.db',
      'sync',
    ],
  },
  {
    name: 'passports and refusals',
    make: createDashboardWorld,
    steps: [
      'sync',
      ...LOOK,
      'items --state incomplete',
      'items --state rejected',
      'show product P-1',
      'show passport P-1',
      'show product P-5',
      'show bom_item P-6/10',
      ['show', 'product', ODD_KEY],
      'why P-1',
      'why P-5',
      'why P-6',
      'publish P-1 P-6',
      'publish --all --yes',
      'why P-1',
      'publications',
      'pdf P-1 --out passport.pdf',
      'unpublish P-2',
      'status',
      'report create --type summary --idempotency-key fixed-key-1',
      'report list',
      'replay --state rejected',
      'settle P-5 --kind product --delivered',
      'keys revoke 1 --yes',
    ],
  },
  {
    name: 'blocked changes',
    make: () => createSettleWorld('embedded'),
    steps: [
      async (world) => syncThenBlock(world),
      ...LOOK,
      'show bom_item 3',
      'replay',
      'settle 3 --delivered',
      'settle --state blocked --delivered --yes',
      'status',
      'replay --form --dry-run',
    ],
  },
  {
    name: 'unconfirmed creates',
    make: () => createSettleWorld('embedded'),
    steps: [
      (world) => stageLostAnswers(world, ['P1', 'M1', 'B1']),
      ...LOOK,
      'show product P1',
      'why SKU-P1',
      'settle P1 --rejected',
      'settle M1 --delivered --id 77',
      'settle B1 --ignore',
      'status',
    ],
  },
  {
    name: 'adopted products',
    make: () => createSettleWorld('embedded'),
    steps: [
      (world) => createAtPlatform(world, 'products', { ...PRODUCT_P1, sku: 'SKU-P1', name: 'Another name' }),
      // Whether the list is read before or after the BOM items are stored would be a matter of time.
      async (world) => {
        const files = smallFiles(SMALL);
        world.write('exports/bom.csv', smallFiles({ ...SMALL, lines: [] })['exports/bom.csv'] ?? '');
        await world.sync();
        world.writeAll(files);
      },
      'sync',
      ...LOOK,
      'settle --bom present P1',
      'sync --accept erp',
      'status',
    ],
  },
  {
    name: 'a key without a scope',
    make: () => createWorld({ config: { sources: EXPORT_SOURCES, passports }, files: GOOD_FILES }),
    steps: [
      ({ sandbox }) => sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 403 }),
      'sync --wait 1',
      ...LOOK,
    ],
  },
  {
    name: 'an API that refuses the key',
    make: () => createWorld({ config: { sources: EXPORT_SOURCES, passports }, files: GOOD_FILES }),
    steps: [
      ({ sandbox }) => sandbox.faults.add({ operation: '*', kind: 'status', status: 401 }),
      'sync --wait 1',
      'check',
      'publications',
      'status',
    ],
  },
  {
    name: 'an API out of reach, and a source without its file',
    make: () => createWorld({ config: { sources: EXPORT_SOURCES, passports }, files: GOOD_FILES }),
    steps: [
      'sync',
      (world) => world.write('materials.csv', 'ID,NAME\n900,Stainless steel\n'),
      ({ sandbox }) => sandbox.close(),
      'sync --wait 1',
      'check',
      'status',
      (world) => rmSync(join(world.folder, 'products.csv')),
      'sync --wait 1',
      'check',
    ],
  },
];

/** Commands that run workers or change what this process shares. They run in a process of their own. */
const OWN_PROCESS = /^(sync|replay(?! .*--dry-run)|publish|unpublish|publications|pdf|report|ledger restore|keys)\b/;

async function documentOf(step: string | readonly string[], world: World): Promise<unknown> {
  const args = typeof step === 'string' ? step.split(' ') : step;
  const line = args.join(' ');
  const config = args.includes('-c') ? [] : ['-c', 'dpp-sync.yaml'];
  const files = [...args, ...config].map((arg) => (/\.(yaml|db|csv|pdf)$/.test(arg) ? join(world.folder, arg) : arg));
  const run = OWN_PROCESS.test(line) ? cli : runHere;
  const { exitCode, stdout } = await run([...files, '--json']);
  const lines = stdout.split('\n').filter((text) => text !== '');
  return { command: line, exitCode, documents: lines.map((text) => plainValues(JSON.parse(text), world)) };
}

const inFile = (name: string) => `./snapshots/${name.replaceAll(/[^a-z]+/gi, '-').toLowerCase()}.json`;
const written = (value: unknown) => `${JSON.stringify(value, null, 1)}\n`;

/** Reads of the API that name something. Those that name nothing come from the list of operations. */
const NAMED = [
  '/items?kind=product&limit=2',
  '/items/product/P-1',
  '/items/passport/P-1',
  '/items/product/P-5',
  '/items/bom_item/P-6%2F10',
  '/items/product/P-404',
  `/items/product?key=${encodeURIComponent(ODD_KEY)}`,
  '/why/P-1',
  '/why/P-5',
  '/why/P-404',
  '/passports?state=incomplete',
  '/runs/1',
  '/runs/404',
];

/** A line of a plan without its digests, which follow from dpp-sync's own functions, and without the time at a learnt rate. */
function stableLine(line: unknown): object {
  const { basis: _, writes: __, seconds: ___, ...rest } = line as Record<string, unknown>;
  return rest;
}

describe('documents for scripts', () => {
  it.each(LEDGERS)('the documents of --json and the exit codes stay as they are: $name', async (ledger) => {
    const world = await ledger.make();
    try {
      const documents: unknown[] = [];
      for (const step of ledger.steps) {
        if (typeof step === 'function') await step(world);
        else documents.push(await documentOf(step, world));
      }
      await expect(written(documents)).toMatchFileSnapshot(inFile(ledger.name));
    } finally {
      await world.remove();
    }
  });

  it('the answers of the HTTP API stay as they are', async () => {
    const served = await serveDashboardWorld();
    const { world, url } = served;
    try {
      const answers: unknown[] = [];
      await served.daemon.runtime.activity.end();
      const read = async (path: string): Promise<unknown> => {
        const answer = await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
        const lines = (await answer.text()).split('\n').filter((line) => line !== '');
        const documents = lines.map((line) => JSON.parse(line) as unknown);
        const body = path === '/plan' ? documents.map(stableLine) : (documents[0] ?? null);
        // How many hours the history has depends on when the test runs.
        const kept = path === '/history' ? { ...(body as object), hours: [] } : body;
        answers.push({ path, status: answer.status, body: plainValues(kept, world) });
        return body;
      };
      for (const { method, path } of API_OPERATIONS) if (method === 'GET' && !path.includes(':')) await read(path);
      for (const path of NAMED) await read(path);
      for (const { id } of (await read('/causes')) as { id: string }[]) {
        await read(`/causes/${id}`);
        await read(`/causes/${id}/members`);
      }
      await expect(written(answers)).toMatchFileSnapshot(inFile('answers of the HTTP API'));
    } finally {
      await served.remove();
    }
  });
});
