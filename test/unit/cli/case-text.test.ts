import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasNoCase, newCasesText, withCase } from '../../../src/cli/cases/write-case.ts';
import { parseDocumentText } from '../../../src/config/document.ts';
import type { MappingCase } from '../../../src/domain/mapping-case.ts';
import type { JsonObject } from '../../../src/lib/json.ts';

function caseOf(row: JsonObject, name = 'a row'): MappingCase {
  return {
    name,
    given: { source: 'erp', stream: 'products', row, lookups: {} },
    expect: { issue: [{ code: 'country.unknown', field: 'country_of_origin', value: 'XX' }] },
  };
}

interface Read {
  cases: { name: string; given: { source?: string; row: JsonObject }; expect: unknown }[];
}

function read(text: string): Read['cases'] {
  const document = parseDocumentText(text);
  if (!document.ok) throw new Error(JSON.stringify(document.error));
  return (document.value.value as Read).cases;
}

const FILE = `# My cases.
cases:
  # About pumps.
  - name: "a pump"   # the first one
    given: {stream: products, row: {ID: '1',   NAME: Pump}}
    expect: {excluded: true}
# The end.
`;

describe('the text of a case', () => {
  it('the text of a case is added at the end, and everything else of the file stays as it is', () => {
    const text = withCase(FILE, caseOf({ ID: '2', NAME: 'Motor: "big"' }), true);
    expect(text.startsWith(FILE)).toBe(true);
    expect(text.slice(FILE.length)).toBe(`
  - name: a row
    given:
      stream: products
      row:
        ID: "2"
        NAME: 'Motor: "big"'
    expect:
      issue:
        code: country.unknown
        field: country_of_origin
        value: XX
`);
    expect(read(text).map(({ name }) => name)).toEqual(['a pump', 'a row']);
  });

  it('the text of a case has the indentation of the file', () => {
    const text = withCase('cases:\n- name: b\n  given: { row: {} }', caseOf({}), false);
    expect(text).toContain('\n- name: a row\n  given:\n    source: erp\n');
    expect(read(text)).toHaveLength(2);
  });

  it.each(['', '# Nothing yet.\n', 'cases:\n', 'cases: []\n', 'cases: # none\n'])(
    'the text of a case begins a file without a case: %j',
    (before) => {
      expect(hasNoCase(before)).toBe(true);
      const text = withCase(before, caseOf({ ID: '1' }), true);
      expect(read(text)).toMatchObject([{ name: 'a row', given: { row: { ID: '1' } } }]);
      for (const comment of before.match(/#.*/g) ?? []) expect(text).toContain(comment);
    },
  );

  it.each(['cases: [{ name: b }]', '{"cases": [{"name": "b"}]}\n'])(
    'the text of a case is added to a file in braces: %s',
    (before) => {
      expect(hasNoCase(before)).toBe(false);
      expect(read(withCase(before, caseOf({ ID: '1' }), true)).map(({ name }) => name)).toEqual(['b', 'a row']);
    },
  );

  it('a file that is no YAML, or is a list, is not taken for a file without a case', () => {
    expect(['cases: [', '- name: a\n'].map(hasNoCase)).toEqual([false, false]);
  });

  it('the text of a case shows each character that nobody sees, and gives it back', () => {
    const row = { ID: 'a\u200bb', 'na\u00adme': 'c\u001fd\nend', '\ufeffX': '\u{e0001}' };
    const text = newCasesText('dpp-sync.yaml', caseOf(row), true);
    expect(text).toMatch(/ID: "a\\u200bb"\n.*"na\\u00adme": "c\\x1fd\\nend"\n/);
    for (const unseen of ['\u200b', '\u00ad', '\u001f', '\ufeff', '\u{e0001}']) expect(text).not.toContain(unseen);
    expect(read(text)[0]?.given.row).toEqual(row);
  });

  it('the text of a case gives each row back as it was', () => {
    // The parser of configs refuses these characters, and reads no numbers that a double cannot hold.
    const text = fc.string({ unit: 'grapheme' }).filter((one) => !/[\ufdd0-\ufdd6]/.test(one));
    const name = text.filter((one) => one !== '__proto__');
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.constantFrom('null', '0123', '1e3', '~', '- a', 'a: b', '#c', '${X}', ' a ', 'yes', '2019-01-01', '"', "'"),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value')),
        fc.dictionary(name, tie('value')),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(name, value), (given) => {
        const row = JSON.parse(JSON.stringify(given)) as JsonObject;
        for (const written of [newCasesText('dpp-sync.yaml', caseOf(row), true), withCase(FILE, caseOf(row), true)])
          expect(read(written).at(-1)?.given.row).toEqual(row);
      }),
    );
  });
});
