import assert from 'node:assert/strict';
import { z } from 'zod';
import { SDK_VERSION } from '../connector.ts';
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
