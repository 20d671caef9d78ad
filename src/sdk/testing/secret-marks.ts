import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Connector } from '../connector.ts';
import type { ConnectorCheck } from './source-under-test.ts';

/** An option with such a name has a value that nobody may see. */
const SECRET_NAME = /(?:token|password|passphrase|secret|(?:access|api|private|secret)_?key)$/i;

/** The program hides the values of options that are marked as secrets, and no others. */
export function secretMarkCheck({
  options,
  streamOptions,
}: Pick<Connector, 'options' | 'streamOptions'>): ConnectorCheck {
  return {
    name: 'marks its secrets',
    async run() {
      for (const [name, property] of [...propertiesOf(options), ...propertiesOf(streamOptions)]) {
        const isShown = SECRET_NAME.test(name) && property.type === 'string' && !isMarked(property);
        assert.ok(
          !isShown,
          `The option ${name} is not marked as a secret, so logs and the dashboard show its value: declare it as \`secret()\`.`,
        );
      }
    },
  };
}

/** The options of a schema by name, as JSON Schema. */
export function propertiesOf(schema: z.ZodType): [string, z.core.JSONSchema.JSONSchema][] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, property]) => [name, typeof property === 'object' ? property : {}]);
}

/** True if a schema in JSON Schema, or a part of it, is marked as a secret. */
export function isMarked(schema: object): boolean {
  return JSON.stringify(schema).includes('"secret":true');
}
