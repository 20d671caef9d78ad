import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { PassportView } from '../../../src/domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../../../src/domain/ports/ledger/reads.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { text } from '../../support/ledger/items.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

const QUICK = {
  list: { lagMs: 0 },
  settlingDelayMs: { reset: 20, timeout: 20 },
  retry: { attemptsMax: 3, backoff: { baseMs: 5, capMs: 20 } },
  imports: { creates: 'off' },
};
const OPEN_GATES = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};
const AUTO = { init: 'when-complete', publish: 'auto' };
const ALL = ['SKU-P1', 'SKU-P2', 'SKU-P3'];

async function given(
  lies: SandboxOptions['lies'],
  options: { profile?: Record<string, unknown>; target?: Record<string, unknown>; sandbox?: SandboxOptions } = {},
): Promise<void> {
  world = await createWorld({
    config: { sources: SMALL_SOURCES, passports: AUTO },
    files: smallFiles(SMALL),
    sandbox: { gates: OPEN_GATES, lies, ...options.sandbox },
    profile: { ...QUICK, ...options.profile },
    target: options.target ?? {},
  });
}

async function viewed<T>(look: (reads: Reads) => Promise<T>): Promise<T> {
  await using runtime = await world.open();
  return await look(runtime.reads);
}

const passportOf = (product: string): Promise<PassportView | null> => viewed((views) => views.passport(product));
const published = (): string[] =>
  world
    .contents()
    .publications.map(({ sku }) => text(sku))
    .toSorted();
const standing = (report: SyncReport) => ({ exit: exitCodeOf(report), passports: report.passports });

/** The BOM items at the platform: the SKU of the product, and the code or SKU of the part. */
function parts(): string[] {
  const { products, materials, bomItems } = world.contents();
  const sku = new Map(products.map((one) => [one['id'], text(one['sku'])]));
  const code = new Map(materials.map((one) => [one['id'], text(one['code'])]));
  return bomItems
    .map((one) => `${sku.get(one['product'])} ${code.get(one['material']) ?? sku.get(one['component'])}`)
    .toSorted();
}

async function rightParts(): Promise<string[]> {
  await given([]);
  expect(standing(await world.sync())).toEqual({ exit: 0, passports: { published: 3 } });
  const right = parts();
  await world.remove();
  return right;
}

describe('an answer to a create', () => {
  it('an answer to a create that repeats nothing is not believed: one list gives the ids of all products', async () => {
    const right = await rightParts();
    for (const lie of ['other-kind', 'other-item', 'other-id', 'report'] as const) {
      await given([`product.create:${lie}`]);
      const report = await world.sync();
      expect(standing(report), lie).toEqual({ exit: 0, passports: { published: 3 } });
      expect([published(), parts()], lie).toEqual([ALL, right]);
      const sent = world.requests();
      expect(sent['product.create'], lie).toBe(3);
      if (lie !== 'report') await world.remove();
    }
  });
});

describe('an id that was taken without proof', () => {
  it('an id that was taken without proof stays counted after a change, whose answer does not show whose id it is', async () => {
    const sandbox = { answers: { 'material.create': 'id' } } as const;
    await given([], { target: { firstContact: 'assume-empty' }, sandbox });
    await world.sync();
    const counted = [{ kind: 'material', because: 'assumed_empty', count: SMALL.materials.length }];
    expect(await viewed((views) => views.unproven())).toEqual(counted);
    world.requests();
    const materials = SMALL.materials.map((one) => ({ ...one, name: `${one.name} (new)` }));
    world.writeAll(smallFiles({ ...SMALL, materials }));
    await world.sync();
    expect(world.requests()['material.update']).toBe(materials.length);
    expect(await viewed((views) => views.unproven())).toEqual(counted);
  });
});

describe('an answer to a BOM item', () => {
  const LINE = { id: '9', product: 'P1', material: 'M2', quantity: '3' };

  it('an answer to a BOM item that repeats nothing is not believed where earlier answers did, and a person decides', async () => {
    await given([]);
    expect(exitCodeOf(await world.sync())).toBe(0);
    const before = parts();
    world.sandbox.setLies(['bom_item.create:ignored']);
    const files = smallFiles({ ...SMALL, lines: [...SMALL.lines, LINE] });
    world.writeAll(files);
    expect(exitCodeOf(await world.sync())).toBe(4);
    const [stuck] = await viewed((views) => views.stuck(1));
    expect(stuck).toMatchObject({ kind: 'bom_item', state: 'in_doubt', reason: { code: 'unechoed' } });
    expect(parts()).toEqual(before);
    // The message names this setting, so the next run follows it, without a request.
    world.write('profile.yaml', JSON.stringify({ extends: 'default', ...QUICK, answers: { withoutProof: 'accept' } }));
    world.requests();
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(world.requests()).toEqual({});
    const unproven = { kind: 'bom_item', because: 'accepted', count: 1 };
    expect(await viewed((views) => views.unproven())).toEqual([unproven]);
  });
});

describe('an answer to a publication', () => {
  it.each([
    ['passport.publish:accepted', 'The answer does not say that the passport is public.'],
    ['passport.publish:queued', 'queued'],
    ['passport.publish:pending-review', 'pending_review'],
    ['passport.publish:initialized', 'initialized'],
  ] as const)('an answer to a publication is not believed under %s, and the words are shown', async (lie, words) => {
    await given([lie]);
    const report = await world.sync();
    expect(standing(report)).toEqual({ exit: 4, passports: { blocked: 3 } });
    expect(published()).toEqual([]);
    expect(JSON.stringify(await passportOf('P1'))).toContain(words);
    // The first contact of the publications is none of them: one when the work rests, and one after a wait.
    expect(world.requests()['publication.list']).toBe(2);
    // The next run looks once more, and publishes nothing a second time.
    world.requests();
    expect(standing(await world.sync())).toEqual({ exit: 4, passports: { blocked: 3 } });
    expect(world.requests()).toEqual({ 'publication.list': 1 });
  });

  it('an answer to a publication that is queued is delivered when the publications show it', async () => {
    await given(['passport.publish:queued-then-public']);
    expect(standing(await world.sync())).toEqual({ exit: 0, passports: { published: 3 } });
    expect(published()).toEqual(ALL);
    expect(world.requests()['passport.publish']).toBe(3);
  });
});

/** A platform that answers writes with ids of new items or nothing, and that has no lists. */
describe('a platform whose answers are bare', () => {
  let front: Server;
  let requests: string[];
  afterEach(() => void front.close());

  /** Puts a server in front of the sandbox that keeps only the ids of answers. */
  async function bare(answers: 'hold' | 'accept', lists: 'lists' | 'no lists'): Promise<void> {
    requests = [];
    front = createServer((request, response) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const { method = 'GET', url = '/', headers } = request;
        requests.push(`${method} ${url.replace(/[?].*|\/\d+/g, '')}`);
        if (method === 'GET' && lists === 'no lists') return response.writeHead(404).end();
        const answer = await fetch(world.baseUrl + url, {
          method,
          headers: { 'x-api-key': String(headers['x-api-key']), 'content-type': 'application/json' },
          ...(method !== 'GET' && { body: Buffer.concat(chunks) }),
        });
        const body = (await answer.json()) as { id?: unknown };
        if (method === 'GET' || answer.status >= 300)
          return response.writeHead(answer.status).end(JSON.stringify(body));
        const isCreate = url === '/api/products/' || url === '/api/materials/';
        if (isCreate) return response.writeHead(201).end(JSON.stringify({ id: body.id }));
        return response.writeHead(204).end();
      })();
    });
    await once(front.listen(0, '127.0.0.1'), 'listening');
    const { port } = front.address() as AddressInfo;
    const target = {
      baseUrl: `http://127.0.0.1:${port}`,
      ...(lists === 'no lists' && { firstContact: 'assume-empty' }),
    };
    await given([], { target, profile: { answers: { withoutProof: answers } } });
  }

  it('a platform whose answers are bare is done with its lists: one list of each kind after the creates', async () => {
    const right = await rightParts();
    await bare('hold', 'lists');
    const report = await world.sync();
    expect(standing(report)).toEqual({ exit: 0, passports: { published: 3 } });
    expect([published(), parts()]).toEqual([ALL, right]);
    expect(await viewed((views) => views.unproven())).toEqual([]);
    const after = (what: string): number =>
      requests.slice(requests.lastIndexOf('POST /api/products/')).filter((one) => one === what).length;
    expect(after('GET /api/products/')).toBeLessThanOrEqual(2);
    expect(after('GET /api/dpp/publications/')).toBeLessThanOrEqual(2);
  });

  it('a platform whose answers are bare and that has no lists is done if the profile accepts its 2xx, and that is counted', async () => {
    await bare('accept', 'no lists');
    const report = await world.sync();
    expect(standing(report)).toEqual({ exit: 0, passports: { published: 3 } });
    expect(published()).toEqual(ALL);
    expect(await viewed((views) => views.unproven())).toEqual([
      { kind: 'product', because: 'assumed_empty', count: 3 },
      { kind: 'passport', because: 'accepted', count: 3 },
      { kind: 'material', because: 'assumed_empty', count: 2 },
    ]);
    expect(requests.filter((one) => one === 'GET /api/dpp/publications/').length).toBeLessThanOrEqual(2);
  });

  it('a platform whose answers are bare and that has no lists leaves its publications to a person, and that is said', async () => {
    await bare('hold', 'no lists');
    expect(standing(await world.sync())).toEqual({ exit: 4, passports: { blocked: 3 } });
    const [stuck] = await viewed((views) => views.stuck(1));
    expect(stuck?.reason.message).toContain('The publications cannot be read.');
    expect(stuck?.reason.message).toContain('answers.withoutProof: accept');
    const publishes = (): number => requests.filter((one) => one.endsWith('/publish/')).length;
    const before = publishes();
    expect(standing(await world.sync())).toEqual({ exit: 4, passports: { blocked: 3 } });
    expect(publishes()).toBe(before);
  });
});

describe('a list that fails after answers that prove too little', () => {
  it('a list that fails after answers that prove too little ends the wait of a sync, and is read by the next one', async () => {
    await given(['product.create:other-id']);
    // The first contact has read the list before.
    world.sandbox.faults.add({ operation: 'product.list', kind: 'status', status: 500, skip: 1 });
    const report = await world.sync({ waitMs: 500 });
    expect(report.fault).toMatchObject({
      code: 'api.unreachable',
      message: expect.stringContaining("The API's list of products could not be read"),
    });
    world.sandbox.faults.clear();
    expect(standing(await world.sync())).toEqual({ exit: 0, passports: { published: 3 } });
    expect(published()).toEqual(ALL);
  });
});

describe('a conflict of a passport', () => {
  it.each(['passport.init:refuses-done', 'passport.init:refuses-once', 'passport.publish:refuses-done'] as const)(
    'a conflict in odd words ends well under %s',
    async (lie) => {
      await given([lie]);
      expect(standing(await world.sync())).toEqual({ exit: 0, passports: { published: 3 } });
      expect(published()).toEqual(ALL);
      expect(world.requests()['publication.list']).toBeLessThanOrEqual(3);
    },
  );
});

describe('a success that states a failure', () => {
  it.each(['product.create', 'material.create', 'bom_item.create', 'passport.init', 'passport.publish'] as const)(
    'a success that states a failure ends, with the words of the platform: %s',
    async (operation) => {
      await given([`${operation}:success-false`]);
      const report = await world.sync();
      expect(exitCodeOf(report)).toBe(4);
      const stuck = await viewed((views) => views.stuck(1));
      expect(stuck[0]?.reason.message).toContain('The request could not be processed.');
      const sent = world.requests();
      const rows = { 'product.create': 3, 'material.create': 3 } as Record<string, number>;
      expect(sent[operation]).toBeLessThanOrEqual(2 * (rows[operation] ?? 6));
      const lists = ['product.list', 'material.list', 'publication.list'].map((list) => sent[list] ?? 0);
      expect(Math.max(...lists)).toBeLessThanOrEqual(4);
    },
  );
});
