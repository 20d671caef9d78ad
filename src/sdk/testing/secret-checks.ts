import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { z } from 'zod';
import { FILE_SOURCE } from '../files/file-options.ts';
import type { CheckMaker } from './check.ts';
import { sourceUnderTest } from './source-under-test.ts';

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
