import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type CliProcess, cli, startCli } from '../support/cli/cli.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { allSkus, type Evidence, violations } from '../support/ledger/invariants.ts';
import { announcedRandom } from '../support/runner/announced-random.ts';
import { IS_FULL, scaled } from '../support/runner/chaos.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { type MortalSandbox, startMortalSandbox } from '../support/sandbox/mortal-sandbox.ts';
import { describeRedis, type RedisServer, startRedis } from '../support/servers/redis.ts';
import { largeExport, SMALL_SOURCES, smallFiles } from '../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../support/worlds/world.ts';

/** The number of products. Each has a material, a BOM item, and a passport that is initialised and published. */
const COUNT = scaled(30, 1_667);
const SOURCE = largeExport(COUNT);
const WRITES = COUNT * 5;
const CYCLES = scaled(2, 100);
const OPEN_GATES = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};

type Victim = 'process' | 'redis' | 'sandbox';
/** Whether new products are sent one by one, or in bulk imports. */
type Creates = 'one by one' | 'in bulk';
type Queue = 'embedded' | 'redis with an append-only file' | 'redis without one';

let world: World;
let sandbox: MortalSandbox;
let redis: RedisServer | null = null;
let running: CliProcess | null = null;

afterEach(async () => {
  await killProcess();
  await world.remove();
  await sandbox.stop();
  await redis?.stop();
  redis = null;
});

async function given(queue: Queue, honoured: boolean, creates: Creates): Promise<void> {
  if (queue !== 'embedded') redis = await startRedis({ appendonly: queue === 'redis with an append-only file' });
  sandbox = await startMortalSandbox({
    idempotency: honoured ? 'honoured' : 'ignored',
    gates: OPEN_GATES,
    // Slow enough that requests are in flight when something is killed.
    faults: [{ operation: '*', kind: 'latency', ms: 15 }],
  });
  world = await createWorld({
    config: {
      target: { baseUrl: sandbox.baseUrl, apiKey: API_KEY, profile: './profile.yaml' },
      sources: SMALL_SOURCES.map((source) => ({ ...source, schedule: '*/2 * * * * *' })),
      passports: { init: 'when-complete', publish: 'auto' },
    },
    files: smallFiles(SOURCE),
    queue: redis?.url ?? 'embedded',
    profile: {
      list: { lagMs: 0 },
      settlingDelayMs: { reset: 100, timeout: 100 },
      imports: creates === 'in bulk' ? { createsMin: 5, membersMax: 10, settlesWithinMs: 500 } : { creates: 'off' },
      ...(honoured ? { idempotency: 'honoured' } : {}),
    },
  });
}

function startProcess(random: () => number): CliProcess {
  const command = random() < 0.5 ? 'sync' : 'start';
  const started = startCli([command, '-c', world.configFile, '--json']);
  running = started;
  return started;
}

async function killProcess(): Promise<void> {
  running?.signal('SIGKILL');
  await running?.ended;
  running = null;
}

/**
 * Waits until this many writes have taken effect. A process that ends meanwhile, because it cannot reach Redis or the API,
 * is started again.
 */
async function workUntil(writes: number, random: () => number): Promise<void> {
  const giveUpAt = performance.now() + WAIT_MS;
  let ended: Awaited<CliProcess['ended']> | null = null;
  const watch = (process: CliProcess) => {
    void process.ended.then((result) => {
      if (running === process) ended = result;
    });
  };
  watch(running ?? startProcess(random));
  while (sandbox.writes() < writes) {
    if (ended !== null) {
      const { exitCode, stdout, stderr }: Awaited<CliProcess['ended']> = ended;
      // Products with unconfirmed BOM items get no passports. If there are many, no further write is certain.
      if (exitCode === 4) return;
      if (exitCode !== 3)
        throw new Error(`It ended with ${exitCode} at ${sandbox.writes()} writes: ${stdout}${stderr}`);
      ended = null;
      watch(startProcess(random));
    }
    if (performance.now() > giveUpAt) throw new Error(`Nothing moves at ${sandbox.writes()} of ${writes} writes.`);
    await delay(2);
  }
}

async function strike(victim: Victim, random: () => number): Promise<void> {
  if (victim === 'process') return killProcess();
  const server = victim === 'redis' ? redis : sandbox;
  await server?.kill();
  await delay(300 * random());
  await server?.restart();
}

/** Kills the process, Redis or the sandbox in each cycle. The cycles are spread over the writes that are certain to happen. */
async function surviveCycles(random: () => number): Promise<void> {
  const victims: Victim[] = redis === null ? ['process', 'sandbox'] : ['process', 'redis', 'sandbox'];
  // A product with an unconfirmed BOM item never gets a passport, so not all writes are certain to happen.
  const sureWrites = WRITES * 0.8;
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    const done = sandbox.writes();
    const step = Math.max(0, sureWrites - done) / (CYCLES - cycle);
    // While this process was stopped, the others may have done everything. Then there is no further write to wait for.
    await workUntil(Math.min(sureWrites, done + 1 + Math.floor(step * random())), random);
    // First each victim once, and then random ones. So even a few cycles leave no victim out.
    const victim = victims[cycle < victims.length ? cycle : Math.floor(random() * victims.length)] ?? 'process';
    await strike(victim, random);
  }
  await killProcess();
}

interface SyncOutput {
  items: Record<string, Record<string, number>>;
  passports: Record<string, number>;
}

/** Syncs until all work is done. Checks the ledger and the platform, and returns the report. */
async function finish(bomItems: Evidence['bomItems']) {
  const { exitCode: code, stdout } = await cli(['sync', '-c', world.configFile, '--json']);
  const { items, passports } = JSON.parse(stdout) as SyncOutput;
  const platform = await sandbox.inspect();
  const found = violations({
    ledgerFile: join(world.folder, 'data/ledger.db'),
    platform,
    source: SOURCE,
    bomItems,
    published: bomItems === 'delivered' ? allSkus(SOURCE) : [],
    secrets: [API_KEY],
  });
  expect(found).toEqual([]);
  return { code, items, passports, publications: platform.organizations['acme']?.publications.length };
}

const QUEUES: { queue: Queue; describe: typeof describeRedis }[] = [
  { queue: 'embedded', describe },
  { queue: 'redis with an append-only file', describe: describeRedis },
  { queue: 'redis without one', describe: describeRedis },
];
/** `npm run test:slow` runs each way of key handling with one kind of queue, and `npm run test:chaos` with every kind. */
const queuesFor = (slice: Queue) => QUEUES.filter(({ queue }) => IS_FULL || queue === slice);
const WAYS: readonly Creates[] = ['one by one', 'in bulk'];

describe('after kill -9 of whatever is alive, in the middle of a sync', () => {
  for (const { queue, describe } of queuesFor('embedded')) {
    describe(`with the queue ${queue}`, () => {
      it.each(WAYS)(
        'a sync with kills has each product, material, BOM item and passport once where keys count, with products sent %s',
        covers(['process-killed', 'redis-killed', 'api-killed'], ...ORACLE),
        async (creates) => {
          await given(queue, true, creates);
          await surviveCycles(announcedRandom());
          expect(await finish('delivered')).toEqual({
            code: 0,
            items: {
              product: { delivered: COUNT },
              material: { delivered: COUNT },
              bom_item: { delivered: COUNT },
            },
            passports: { published: COUNT },
            publications: COUNT,
          });
        },
      );
    });
  }
  for (const { queue, describe } of queuesFor('redis without one')) {
    describe(`with the queue ${queue}`, () => {
      it.each(WAYS)(
        'a sync with kills has each product, material and passport once without keys, and lists BOM items, with products sent %s',
        covers(['process-killed', 'redis-killed', 'api-killed', 'keys-ignored'], ...ORACLE),
        async (creates) => {
          await given(queue, false, creates);
          await surviveCycles(announcedRandom());
          const { code, items, passports, publications } = await finish('or_unconfirmed');
          const { delivered = 0, in_doubt: unconfirmed = 0 } = items['bom_item'] ?? {};
          expect(delivered + unconfirmed).toBe(COUNT);
          expect(items).toMatchObject({ product: { delivered: COUNT }, material: { delivered: COUNT } });
          // A product with an unconfirmed BOM item is not complete.
          expect({ published: 0, incomplete: 0, ...passports }).toEqual({
            published: delivered,
            incomplete: unconfirmed,
          });
          expect(publications).toBe(delivered);
          expect(code).toBe(unconfirmed > 0 ? 4 : 0);
        },
      );
    });
  }
});
