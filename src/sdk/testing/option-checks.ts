import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { z } from 'zod';
import { SDK_VERSION } from '../connector.ts';
import { FILE_SOURCE } from '../files/file-options.ts';
import type { CheckMaker } from './check.ts';
import { assertSourceFault, errorOf, sourceUnderTest } from './source-under-test.ts';

/** Checks the definition, its options, and `check`. */
export const optionChecks: CheckMaker = (connector, fixtures) => {
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
        for (const [name, description] of [
          ...descriptionsIn(connector.options),
          ...descriptionsIn(connector.streamOptions),
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

/** The names and descriptions of a schema's fields. */
function descriptionsIn(schema: z.ZodType): [string, string | undefined][] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, property]) => [
    name,
    typeof property === 'object' ? property.description : undefined,
  ]);
}

/** Shorter secrets are not searched for, because they may be parts of ordinary words. */
const SECRET_LENGTH_MIN = 8;

/** Checks that no secret of the options is shown. */
export const secretChecks: CheckMaker = (connector, { folder, samples, unreachable, secrets = [] }) => [
  {
    name: 'shows no secret in a log line, an error, an issue or a check',
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
        for (const attempt of [() => source.check(), () => source.rows()]) {
          shown.push(inspect(await attempt().catch((error: unknown) => error), { depth: 8, maxArrayLength: null }));
        }
      }
      const found = secrets.findIndex((secret) => shown.some((text) => text.includes(secret)));
      assert.equal(found, -1, `The secret number ${found + 1} of the fixtures is shown.`);
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
  return JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })).includes('"secret":true');
}
