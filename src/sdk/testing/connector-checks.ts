import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { z } from 'zod';
import { createSecretFinder } from '../../lib/logging/secrets.ts';
import { type Connector, SDK_VERSION } from '../connector.ts';
import { FILE_SOURCE } from '../files/file-options.ts';
import { PAGE_ROWS_MAX } from '../page-buffer.ts';
import { changeChecks } from './change-checks.ts';
import { openChecks } from './open-checks.ts';
import { cursorChecks, damageChecks, pagesOf, readChecks, tombstoneChecks } from './read-checks.ts';
import { isMarked, propertiesOf, secretMarkCheck } from './secret-marks.ts';
import {
  assertSourceFault,
  type CheckMaker,
  type ConnectorCheck,
  type ConnectorFixtures,
  errorOf,
  type SourceUnderTest,
  sourceUnderTest,
  withMade,
} from './source-under-test.ts';

/**
 * The whole contract of a connector, as named checks for any test runner. The checks run one after the other, because
 * some of them measure the whole process.
 *
 * ```ts
 * for (const { name, run } of connectorChecks(connector, fixtures)) test(name, run);
 * ```
 */
export function connectorChecks<Options, StreamOptions>(
  connector: Connector<Options, StreamOptions>,
  fixtures: ConnectorFixtures,
): ConnectorCheck[] {
  // The options of a fixture pass through the schemas before the connector gets them.
  const checked = connector as unknown as Connector;
  const makers = [
    optionChecks,
    readChecks,
    openChecks,
    cursorChecks,
    changeChecks,
    tombstoneChecks,
    damageChecks,
    hostChecks,
    secretChecks,
  ];
  return makers.flatMap((make) => make(checked, fixtures));
}

const ROWS = 40_000;
/** How many rows the source has. All of them in memory would take more than is allowed. */
const MANY_ROWS = 200_000;
const HELD_BYTES_MAX = 16 * 1024 * 1024;
const PAGES_TAKEN = 4;
/** How long a connector that reads ahead has time to do so, before it is measured. */
const PAUSE_MS = 50;
const PAGES_AFTER_ABORT_MAX = 1;
const CLOSE_MS_MAX = 2_000;

/** Checks how much memory, how much time and how many handles a connector uses. */
const hostChecks: CheckMaker = (connector, { folder, samples, unreachable, large }) => [
  {
    name: 'holds a page at a time, and reads no further than one page ahead',
    run: () =>
      withMade(
        (at) => large(MANY_ROWS, at),
        async (settings, at) => {
          const source = sourceUnderTest({ connector, folder: at, settings });
          const before = await heldBytes();
          let taken = 0;
          let pages = 0;
          for await (const page of source.pages()) {
            taken += page.rows.length;
            pages += 1;
            const held = (await heldBytes()) - before;
            const ahead = (settings.given?.() ?? taken) - taken;
            assert.ok(ahead <= 2 * PAGE_ROWS_MAX, `${ahead} rows were read before the caller asked for them.`);
            assert.ok(held <= HELD_BYTES_MAX, `${held} bytes are held after ${taken} rows.`);
            if (pages === PAGES_TAKEN) break;
          }
          assert.ok(taken < MANY_ROWS, 'A few pages have all rows.');
        },
      ),
  },
  {
    name: 'stops when its signal is aborted, with the reason of the signal',
    async run() {
      const reason = new Error('The check stops the connector.');
      const [settings] = samples;
      const source = sourceUnderTest({ connector, folder, settings });
      const signal = AbortSignal.abort(reason);
      assert.equal(await errorOf(takeAll(source, signal), 'A pull that was stopped before'), reason);
      assert.equal(await errorOf(source.check(signal), 'A check that was stopped before'), reason);
      await withMade(
        (at) => large(ROWS, at),
        async (largeSettings, at) => {
          const abort = new AbortController();
          const largeSource = sourceUnderTest({ connector, folder: at, settings: largeSettings });
          let after = 0;
          const pull = async (): Promise<void> => {
            for await (const _ of largeSource.pages({ signal: abort.signal })) {
              if (abort.signal.aborted) after += 1;
              abort.abort(reason);
            }
          };
          assert.equal(await errorOf(pull(), 'A pull that is stopped'), reason);
          assert.ok(after <= PAGES_AFTER_ABORT_MAX, `${after} pages were read after the stop.`);
        },
      );
    },
  },
  {
    name: 'leaves nothing open: after a whole read, a read that was left, an error and a stop',
    run: () =>
      withMade(
        (at) => large(ROWS, at),
        async (settings, at) => {
          const source = sourceUnderTest({ connector, folder: at, settings });
          // The first use may load modules that stay loaded, so it is not measured.
          await source.check();
          const before = await openHandles();
          await source.rows();
          await source.check();
          for await (const page of source.pages()) if (page.rows.length > 0) break;
          const abort = new AbortController();
          abort.abort();
          await takeAll(source, abort.signal).catch(() => {});
          const nowhere = sourceUnderTest({ connector, folder, settings: unreachable });
          await nowhere.rows().catch(() => {});
          await nowhere.check().catch(() => {});
          await assertClosed(before);
        },
      ),
  },
];

async function takeAll(source: SourceUnderTest, signal: AbortSignal): Promise<void> {
  for await (const _ of source.pages({ signal }));
}

/** The bytes in use after two garbage collections, because the first one frees the memory of buffers with a delay. */
async function heldBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  await setTimeout(PAUSE_MS);
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** How many handles are open, by their kind. */
async function openHandles(): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const kinds = process.getActiveResourcesInfo().filter((kind) => kind !== 'Immediate' && kind !== 'TickObject');
  // This folder does not exist on Windows.
  const files = await readdir('/dev/fd').catch(() => []);
  for (const kind of [...kinds, ...files.map(() => 'file descriptor')]) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Waits for handles that were closed, because a handle may take a moment to disappear. */
async function assertClosed(before: ReadonlyMap<string, number>): Promise<void> {
  const begin = performance.now();
  for (;;) {
    const left = [...(await openHandles())].filter(([kind, count]) => count > (before.get(kind) ?? 0));
    if (left.length === 0) return;
    const names = left.map(([kind, count]) => `${count - (before.get(kind) ?? 0)} × ${kind}`).join(', ');
    assert.ok(performance.now() - begin < CLOSE_MS_MAX, `These are open after \`close\`: ${names}.`);
    await setTimeout(PAUSE_MS);
  }
}

/** Checks the definition, its options, and `check`. */
const optionChecks: CheckMaker = (connector, fixtures) => {
  const { folder, samples, refused, unreachable } = fixtures;
  return [
    {
      name: 'has an id, a title and the version of this SDK',
      async run() {
        assert.match(
          connector.id,
          /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/,
          'The id has lower-case letters, digits and dashes.',
        );
        assert.match(connector.title, /\S/, 'The title says in one line what the connector reads.');
        assert.equal(connector.sdk, SDK_VERSION, 'Declare the connector with `defineConnector`.');
      },
    },
    {
      name: 'describes every option in full sentences',
      async run() {
        for (const [name, { description }] of [
          ...propertiesOf(connector.options),
          ...propertiesOf(connector.streamOptions),
        ]) {
          assert.match(description ?? '', /\.$/, `The option ${name} needs a \`.describe('… .')\`.`);
        }
      },
    },
    {
      name: 'refuses options that it does not know, and those that the fixtures call refused',
      async run() {
        const [{ options = {}, stream = {} }] = samples;
        const unknown = { noSuchOption: 1 };
        const cases = [
          ...refused,
          { options: { ...options, ...unknown }, stream },
          { options, stream: { ...stream, ...unknown } },
        ];
        for (const settings of cases) {
          const accepted =
            connector.options.safeParse(settings.options ?? {}).success &&
            connector.streamOptions.safeParse(settings.stream ?? {}).success;
          assert.ok(!accepted, `These settings should be refused: ${JSON.stringify(settings)}`);
        }
      },
    },
    {
      name: 'checks a source that is there, and says in one line what it found',
      async run() {
        for (const settings of samples) {
          const { found, columns } = await sourceUnderTest({ connector, folder, settings }).check();
          assert.match(found, /^\S[^\n]+\S$/, `${settings.about}: \`found\` is one line.`);
          if (columns !== undefined)
            assert.equal(new Set(columns).size, columns.length, 'Columns are named once each.');
        }
      },
    },
    {
      name: 'reports a source that is not there, by name and with a suggestion',
      async run() {
        const source = sourceUnderTest({ connector, folder, settings: unreachable });
        for (const [what, attempt] of [
          ['check', () => source.check()],
          ['pull', () => source.rows()],
        ] as const) {
          const error = await errorOf(attempt(), `${what} of a source that is not there`);
          assertSourceFault(error, what);
          assert.ok(String(error).includes(unreachable.names), `${what}: the error should name ${unreachable.names}.`);
        }
      },
    },
  ];
};

/** Shorter secrets are not searched for, because they may be parts of ordinary words. */
const SECRET_LENGTH_MIN = 8;

/** Checks that no secret of the options is shown. */
const secretChecks: CheckMaker = (connector, { folder, samples, unreachable, secrets = [] }) => [
  secretMarkCheck(connector),
  {
    name: 'shows no secret in a page, a log line, an error or a check',
    async run() {
      const hasSecrets = [connector.options, connector.streamOptions].some(marksSecrets);
      assert.ok(!hasSecrets || secrets.length > 0, 'The connector has secret options: name their values in `secrets`.');
      for (const secret of secrets) {
        assert.ok(
          secret.length >= SECRET_LENGTH_MIN,
          `A secret of the fixtures has fewer than ${SECRET_LENGTH_MIN} characters.`,
        );
        const isUsed = JSON.stringify([samples, unreachable]).includes(JSON.stringify(secret).slice(1, -1));
        assert.ok(isUsed, '`secrets` of the fixtures has a value that is in none of the settings.');
      }
      const shown: string[] = [];
      for (const settings of [...samples, unreachable]) {
        const source = sourceUnderTest({ connector, folder, settings, onLog: (line) => shown.push(line) });
        for (const attempt of [() => source.check(), () => pagesOf(source.pages())]) {
          shown.push(inspect(await attempt().catch((error: unknown) => error), { depth: 8, maxArrayLength: null }));
        }
      }
      const found = secrets.findIndex((secret) => {
        const finder = createSecretFinder();
        finder.add({ secret, shown: 0, isApiKey: false });
        return shown.some((text) => finder.find(text, 'value').length > 0);
      });
      assert.equal(
        found,
        -1,
        `The secret number ${found + 1} of the fixtures is shown, as it is, encoded, or in part.`,
      );
    },
  },
];

/**
 * True if the connector itself marks secrets. Secrets for servers of files belong to the SDK, which has separate tests.
 */
function marksSecrets(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodObject) {
    const own = Object.values(schema.shape as Record<string, z.ZodType>).filter(
      (field) => field !== FILE_SOURCE.access,
    );
    return own.some(hasMark);
  }
  return hasMark(schema);
}

function hasMark(schema: z.ZodType): boolean {
  return isMarked(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
}
