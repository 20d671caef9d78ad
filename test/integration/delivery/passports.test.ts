import { afterEach, describe, expect, it } from 'vitest';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { sync } from '../../../src/daemon/sync.ts';
import type { PassportView } from '../../../src/domain/ports/ledger/ledger-views.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { covers } from '../../support/docs/reliability.ts';
import { text } from '../../support/ledger/items.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { SMALL, SMALL_SOURCES, type SmallExport, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

const QUICK = {
  list: { lagMs: 0 },
  settlingDelayMs: { reset: 20, timeout: 20 },
  retry: { attemptsMax: 3, backoff: { baseMs: 5, capMs: 20 } },
};
const OPEN_GATES = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};
const AUTO = { init: 'when-complete', publish: 'auto' };

async function given(
  options: {
    export?: SmallExport;
    passports?: Record<string, unknown>;
    gates?: SandboxOptions['gates'];
    sandbox?: SandboxOptions;
    sources?: unknown[];
    profile?: Record<string, unknown>;
  } = {},
): Promise<void> {
  world = await createWorld({
    config: { sources: options.sources ?? SMALL_SOURCES, passports: options.passports ?? AUTO },
    queue: queue(),
    files: smallFiles(options.export ?? SMALL),
    sandbox: { gates: options.gates ?? OPEN_GATES, ...options.sandbox },
    profile: { ...QUICK, ...options.profile },
  });
}

function replaceExport(next: SmallExport): void {
  world.writeAll(smallFiles(next));
}

/** Publications by SKU, those that were withdrawn with a minus sign. */
function publications(): string[] {
  return world
    .contents()
    .publications.map(({ sku, status }) => `${status === 'published' ? '' : '-'}${text(sku)}`)
    .toSorted();
}

async function passportOf(product: string): Promise<PassportView> {
  await using runtime = await world.open();
  const view = await runtime.reads.passport(product);
  if (!view) throw new Error(`no product ${product}`);
  return view;
}

/** Asks for passports as `publish` and `unpublish` do. */
async function ask(status: 'published' | 'unpublished', ...products: string[]) {
  await using runtime = await world.open();
  const answers = await runtime.ledger.askForPassports({ products, status });
  const abort = new AbortController().signal;
  await sync(runtime, { sources: [], waitMs: 10_000, abort, pull: false }, systemClock);
  return answers;
}

const withLines = (change: (lines: SmallExport['lines']) => SmallExport['lines']): SmallExport => ({
  ...SMALL,
  lines: change(SMALL.lines),
});
/** Line 3, of the product P2, has no usable quantity. */
const BROKEN_LINE = withLines((lines) => lines.map((line) => (line.id === '3' ? { ...line, quantity: 'much' } : line)));

describe('passports in a sync', () => {
  it('a sync does not end when the engine has evaluated the passports while the last writes ended', async () => {
    await given();
    await using runtime = await world.open();
    let staged = 0;
    const writesEnded = async () => void (staged += await runtime.passports.evaluate());
    const observed: Runtime = { ...runtime, ledger: { ...runtime.ledger, writesEnded } };
    const abort = new AbortController().signal;
    const report = await sync(observed, { sources: [], waitMs: 10_000, abort }, systemClock);
    expect(staged).toBeGreaterThan(0);
    expect(report.passports).toEqual({ published: 3 });
  });

  it('a sync looks at passports only when the writes before have ended, as their callers mark passports as dirty', async () => {
    await given();
    await using runtime = await world.open();
    let evaluations = 0;
    const passports = { ...runtime.passports, evaluate: () => ((evaluations += 1), Promise.resolve(0)) };
    const lastWrite = Promise.withResolvers<void>();
    const waits = Promise.withResolvers<void>();
    const writesEnded = () => (waits.resolve(), lastWrite.promise);
    const observed: Runtime = { ...runtime, passports, ledger: { ...runtime.ledger, writesEnded } };
    const abort = new AbortController().signal;
    const ended = sync(observed, { sources: [], waitMs: 10_000, abort, pull: false }, systemClock);
    await Promise.race([waits.promise, ended]);
    await new Promise(setImmediate);
    expect(evaluations).toBe(0);
    lastWrite.resolve();
    await ended;
    expect(evaluations).toBe(1);
  });

  it('passports are published once when their products are complete, and a second sync does nothing', async () => {
    await given();
    const first = await world.sync();
    expect(exitCodeOf(first)).toBe(0);
    expect(first.passports).toEqual({ published: 3 });
    expect(publications()).toEqual(['SKU-P1', 'SKU-P2', 'SKU-P3']);
    world.requests();
    const second = await world.sync();
    expect(exitCodeOf(second)).toBe(0);
    expect(world.requests()).toEqual({});
  });

  it('passports are left alone without the section, and initialised only where the policy says so', async () => {
    await given({ passports: { init: 'manual' } });
    expect((await world.sync()).passports).toEqual({ none: 3 });
    expect(world.contents().passports).toEqual([]);
    await world.remove();
    await given({ passports: { init: 'when-complete' } });
    expect((await world.sync()).passports).toEqual({ initialized: 3 });
    expect(publications()).toEqual([]);
  });

  it('passports are blocked by a business rule with its words, and sent again only after something of the product was delivered', async () => {
    // P3 has a country that nobody knows at first: the gate wants one.
    const noCountry: SmallExport = {
      ...SMALL,
      products: SMALL.products.map((one) => (one.id === 'P3' ? { id: 'P3', name: 'Motor' } : one)),
    };
    await given({ export: noCountry, gates: { materialData: { enabled: false } } });
    const first = await world.sync();
    expect(exitCodeOf(first)).toBe(4);
    expect(first.passports).toEqual({ published: 2, blocked: 1 });
    const blocked = await passportOf('SKU-P3');
    expect(blocked).toMatchObject({ state: 'blocked', acknowledged: 'initialized', reason: { code: 'gate' } });
    expect(blocked.reason?.message).toContain('country_of_origin');

    world.requests();
    expect((await world.sync()).passports).toEqual({ published: 2, blocked: 1 });
    expect(world.requests()).toEqual({});

    // A new part of the product is no country, but it is reason enough to ask.
    replaceExport({ ...noCountry, lines: [...SMALL.lines, { id: '5', product: 'P3', material: 'M1', quantity: '1' }] });
    await world.sync();
    expect(world.requests()).toEqual({ 'bom_item.create': 1, 'passport.publish': 1 });
  });

  it('blocked passports are sent again by a replay', covers(['cached-refusal', 'gate'], 'I5', 'I6'), async () => {
    await given({ sandbox: { gates: { ...OPEN_GATES, review: { enabled: true, match: 'SKU-P1' } } } });
    expect((await world.sync()).passports).toEqual({ published: 2, blocked: 1 });
    world.sandbox.approvePassport('acme', 'SKU-P1');
    expect((await world.sync()).passports).toEqual({ published: 2, blocked: 1 });
    const runtime = await world.open();
    try {
      const selection = { states: ['blocked'] as const, sources: [], keys: [], deliveryIds: [] };
      expect(await runtime.replay({ selection, force: false, dryRun: true })).toMatchObject({
        passports: { asked: 1 },
        staged: 1,
      });
      expect(await runtime.replay({ selection, force: false, dryRun: false })).toMatchObject({
        passports: { asked: 1 },
      });
      const abort = new AbortController().signal;
      const report = await sync(runtime, { sources: [], waitMs: 10_000, abort, pull: false }, systemClock);
      expect(report.passports).toEqual({ published: 3 });
    } finally {
      await runtime.close();
    }
    expect(publications()).toEqual(['SKU-P1', 'SKU-P2', 'SKU-P3']);
  });

  it(
    'passports that a platform keeps refusing under the old key are published by themselves once the business rule allows it',
    covers(['gate', 'cached-refusal'], 'I5', 'I6'),
    async () => {
      await given({
        sandbox: {
          idempotency: 'honoured',
          idempotencyReplays: 'everything',
          gates: { ...OPEN_GATES, review: { enabled: true, match: 'SKU-P1' } },
        },
        profile: { recheckBlockedMs: 1 },
      });
      expect((await world.sync()).passports).toEqual({ published: 2, blocked: 1 });
      world.sandbox.approvePassport('acme', 'SKU-P1');
      world.requests();
      expect((await world.sync()).passports).toEqual({ published: 3 });
      expect(world.requests()).toEqual({ 'passport.publish': 1 });
    },
  );
});

describe('a product that is not complete', () => {
  it('a product gets no passport while a row of its bill of materials is in quarantine, and gets one once the row is right', async () => {
    await given({ export: BROKEN_LINE });
    const first = await world.sync();
    expect(exitCodeOf(first)).toBe(4);
    expect(first.passports).toEqual({ published: 2, incomplete: 1 });
    expect(publications()).toEqual(['SKU-P1', 'SKU-P3']);
    const held = await passportOf('P2');
    expect(held.state).toBe('incomplete');
    expect(held.blockers.join('\n')).toMatch(/A row of the product has an error: bom\.csv:4/);

    replaceExport(SMALL);
    const second = await world.sync();
    expect(exitCodeOf(second)).toBe(0);
    expect(publications()).toEqual(['SKU-P1', 'SKU-P2', 'SKU-P3']);
  });

  it('a quarantined row holds back every passport where nobody can say to which product it belongs', async () => {
    await given({
      export: withLines((lines) => [...lines, { id: '9', product: '', material: 'M1', quantity: '1' }]),
      sources: SMALL_SOURCES.map((source) => ({ ...source, guard: { maxMissing: '50%', maxDrop: '50%' } })),
    });
    const first = await world.sync();
    expect(first.passports).toEqual({ incomplete: 3 });
    expect(world.contents().passports).toEqual([]);
    expect((await passportOf('P1')).blockers.join('\n')).toMatch(/may belong to the product: bom\.csv:6/);
    replaceExport(SMALL);
    expect((await world.sync()).passports).toEqual({ published: 3 });
  });

  it('the passport of a product waits for a part that is not delivered', async () => {
    await given({
      export: withLines((lines) => [...lines, { id: '9', product: 'P1', material: 'M9', quantity: '1' }]),
    });
    expect((await world.sync()).passports).toEqual({ published: 2, incomplete: 1 });
    expect((await passportOf('P1')).blockers).toEqual([
      'Its BOM item 9 is waiting for the material M9, which is in no file.',
    ]);
    replaceExport({
      ...SMALL,
      materials: [...SMALL.materials, { id: 'M9', name: 'Zinc' }],
      lines: [...SMALL.lines, { id: '9', product: 'P1', material: 'M9', quantity: '1' }],
    });
    expect((await world.sync()).passports).toEqual({ published: 3 });
  });

  it('the passport of a product waits for the sources of its parts to be read as a whole', async () => {
    const [erp] = SMALL_SOURCES;
    const of = (stream: string) => ({
      streams: { [stream]: erp?.streams[stream as keyof typeof erp.streams] },
      mappings: erp?.mappings.filter((mapping) => mapping.stream === stream),
    });
    const sources = ['products', 'materials', 'boms'].map((stream) => ({ ...erp, id: stream, ...of(stream) }));
    await given({ sources });
    const runtime = await world.open();
    const abort = new AbortController().signal;
    const syncOf = (...ids: string[]) => sync(runtime, { sources: ids, waitMs: 10_000, abort }, systemClock);
    try {
      const first = await syncOf('products', 'materials');
      expect(first.passports).toEqual({ incomplete: 3 });
      expect((await runtime.reads.passport('P1'))?.blockers).toEqual([
        'The source boms gives parts and has never been read.',
        'No BOM item of the product is known, and the source boms has not been read since the product was first read.',
      ]);
      await syncOf('boms');
      expect(publications()).toEqual(['SKU-P1', 'SKU-P2', 'SKU-P3']);

      // A product that was read after the parts waits for the next read of the parts, which may have parts of this product.
      const products = [...SMALL.products, { id: 'P4', name: 'Bracket', country: 'DE' }];
      replaceExport({ ...SMALL, products });
      expect((await syncOf('products')).passports).toEqual({ published: 3, incomplete: 1 });
      await syncOf('boms');
      expect(publications()).toEqual(['SKU-P1', 'SKU-P2', 'SKU-P3', 'SKU-P4']);
    } finally {
      await runtime.close();
    }
  });

  it('the passport of a product without parts is published in the first sync, in whatever order the sources stand', async () => {
    const [erp] = SMALL_SOURCES;
    const sources = ['boms', 'materials', 'products'].map((stream) => ({
      ...erp,
      id: stream,
      streams: { [stream]: erp?.streams[stream as keyof typeof erp.streams] },
      mappings: erp?.mappings.filter((mapping) => mapping.stream === stream),
    }));
    await given({ sources, export: withLines((lines) => lines.filter(({ product }) => product === 'P1')) });
    expect((await world.sync()).passports).toEqual({ published: 3 });
  });

  it('the passport of a product is withdrawn when the product goes missing, and published again when it is back', async () => {
    const [erp] = SMALL_SOURCES;
    await given({ sources: [{ ...erp, onMissing: 'unpublish', guard: { maxMissing: '90%', maxDrop: '90%' } }] });
    await world.sync();
    replaceExport({ ...SMALL, products: SMALL.products.filter(({ id }) => id !== 'P2') });
    const second = await world.sync();
    expect(second.passports).toEqual({ published: 2, unpublished: 1 });
    expect(publications()).toEqual(['-SKU-P2', 'SKU-P1', 'SKU-P3']);
    replaceExport(SMALL);
    expect((await world.sync()).passports).toEqual({ published: 3 });
    expect(publications()).toEqual(['-SKU-P2', 'SKU-P1', 'SKU-P2', 'SKU-P3']);
  });
});

describe('a person', () => {
  it('a person publishes and withdraws passports by hand, and the policy does not undo it', async () => {
    await given({ passports: { init: 'when-complete', publish: 'manual' } });
    await world.sync();
    expect(await ask('published', 'SKU-P1', 'P2', 'nothing')).toMatchObject([
      { key: 'P1', result: 'staged' },
      { key: 'P2', result: 'staged' },
      { key: null, result: 'unknown' },
    ]);
    expect(publications()).toEqual(['SKU-P1', 'SKU-P2']);
    expect(await ask('published', 'P1')).toMatchObject([{ result: 'settled' }]);
    expect(await ask('unpublished', 'P1', 'P3')).toMatchObject([{ result: 'staged' }, { result: 'settled' }]);
    expect(publications()).toEqual(['-SKU-P1', 'SKU-P2']);
    world.requests();
    await world.sync();
    expect(world.requests()).toEqual({});
    await ask('published', 'P1');
    expect(publications()).toEqual(['-SKU-P1', 'SKU-P1', 'SKU-P2']);
  });

  it('a person cannot publish a product that is not complete, and is given the reason', async () => {
    await given({ export: BROKEN_LINE, passports: { init: 'manual' } });
    await world.sync();
    const [answer] = await ask('published', 'P2');
    expect(answer).toMatchObject({ result: 'incomplete' });
    expect(answer?.blockers.join('\n')).toMatch(/bom\.csv:4/);
    expect(world.contents().passports).toEqual([]);
  });
});

describe('an unconfirmed passport', () => {
  const cases = [
    { what: 'the initialisation', operation: 'passport.init', profile: {} },
    { what: 'the publication', operation: 'passport.publish', profile: {} },
    {
      what: 'the publication, where no keys are honoured',
      operation: 'passport.publish',
      profile: { idempotency: 'none' },
    },
  ] as const;
  it.each(cases)('a passport is right in the end when the answer to $what is lost', async ({ operation, profile }) => {
    const idempotency = 'idempotency' in profile ? ('ignored' as const) : ('publish-only' as const);
    await given({ profile, sandbox: { idempotency, gates: OPEN_GATES } });
    world.sandbox.faults.add({ operation, kind: 'reset-after', count: 2 });
    const report = await world.sync();
    expect(report.passports).toEqual({ published: 3 });
    expect(publications()).toEqual(['SKU-P1', 'SKU-P2', 'SKU-P3']);
    expect(world.sandbox.faults.unused()).toEqual([]);
  });

  it('an unconfirmed passport is looked up among the publications when the answer to every attempt was lost', async () => {
    await given({});
    world.sandbox.faults.add({ operation: 'passport.publish', kind: 'truncate', count: 3 * QUICK.retry.attemptsMax });
    expect((await world.sync()).passports).toEqual({ published: 3 });
    expect(publications()).toEqual(['SKU-P1', 'SKU-P2', 'SKU-P3']);
    expect(world.sandbox.faults.unused()).toEqual([]);
  });

  it('a passport is withdrawn once when the answer to the withdrawal is lost', async () => {
    await given({});
    await world.sync();
    world.sandbox.faults.add({ operation: 'passport.unpublish', kind: 'reset-after', count: 1 });
    await ask('unpublished', 'P1');
    expect(publications()).toEqual(['-SKU-P1', 'SKU-P2', 'SKU-P3']);
    expect((await passportOf('P1')).state).toBe('unpublished');
  });
});
