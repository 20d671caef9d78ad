import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExactly, repeatedName, repeatedNames } from '../../../src/lib/json.ts';

const found = (text: string) => repeatedNames(text, parseExactly(text));

describe('the names that an object of a JSON text has twice', () => {
  it('are found with the way to their object', () => {
    expect(found('{"a": [1, {"b": {}}, {"c": [[], {"x": 1, "y": ",", "x": 2}]}], "a": 0}')).toEqual([
      { name: 'x', path: ['a', 2, 'c', 1] },
      { name: 'a', path: [] },
    ]);
  });

  it('are the same name if one of them has escapes', () => {
    expect(found('{"\\u0061": 1, "a": 2}')).toEqual([{ name: 'a', path: [] }]);
    expect(found('{"\\\\": 1, "\\"": 2, "\\\\\\"" : 3}')).toEqual([]);
  });

  it('are no texts that look like names', () => {
    expect(found('{"a": "\\"a\\": 1, \\"a\\": 2", "b": ["a", "a"]}')).toEqual([]);
  });

  it('are none in a text that a program has written from a value', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(found(text)).toEqual([]);
        expect(repeatedName(text)).toBeUndefined();
      }),
    );
  });

  it('are found wherever the object is', () => {
    fc.assert(
      fc.property(fc.json(), fc.string(), (inner, name) => {
        const text = `[${inner}, {${JSON.stringify(name)} : ${inner}\n,\t${JSON.stringify(name)}\r:0}]`;
        expect(found(text)).toEqual([{ name, path: [1] }]);
        expect(repeatedName(text)).toBe(name);
      }),
    );
  });
});
