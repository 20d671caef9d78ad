import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/lib/json.ts';
import { shareDefinitions } from '../../../src/lib/json-schema.ts';

const schemaWith = (definition: JsonObject, name = 'Place'): JsonObject => ({
  type: 'array',
  items: { $ref: `#/$defs/${name}` },
  $defs: { [name]: definition },
});

describe('the definitions that the schemas of a document share', () => {
  it('are in the document once, and the references lead to them', () => {
    const definitions: JsonObject = {};
    for (let times = 0; times < 2; times += 1) {
      expect(shareDefinitions(schemaWith({ type: 'string' }), '#/components/schemas', definitions)).toEqual({
        type: 'array',
        items: { $ref: '#/components/schemas/Place' },
      });
    }
    expect(definitions).toEqual({ Place: { type: 'string' } });
  });

  it('are refused if two different ones have one name, or one has none', () => {
    const definitions: JsonObject = {};
    shareDefinitions(schemaWith({ type: 'string' }), '#/$defs', definitions);
    expect(() => shareDefinitions(schemaWith({ type: 'number' }), '#/$defs', definitions)).toThrow(
      'Two different schemas have the name Place.',
    );
    expect(() => shareDefinitions(schemaWith({ type: 'string' }, '__schema0'), '#/$defs', {})).toThrow('needs a name');
  });
});
