import { describe, expect, it } from 'vitest';
import { RAW_FIELD } from '../../../src/domain/record.ts';
import { incomingRecord } from '../../../src/pipeline/incoming-record.ts';

const place = { file: 'a.csv', line: 2 };

describe('a record on its way into the ledger', () => {
  it('an incoming record is known by its key columns and stored without the omitted ones', () => {
    const { identity, raw, issues } = incomingRecord(
      { fields: { ID: '007', NAME: 'x', PRICE: '9' }, place },
      ['ID'],
      new Set(['PRICE']),
    );
    expect(identity).toBe('007');
    expect(JSON.parse(raw)).toEqual({ ID: '007', NAME: 'x' });
    expect(issues).toEqual([]);
  });

  it('an incoming record does not count a change in an omitted column', () => {
    const omitted = new Set(['PRICE']);
    const one = incomingRecord({ fields: { ID: '1', PRICE: '9' }, place }, ['ID'], omitted);
    const two = incomingRecord({ fields: { ID: '1', PRICE: '10' }, place }, ['ID'], omitted);
    expect(two.hash).toBe(one.hash);
  });

  it('an incoming record that could not be split keeps only the key, where columns are omitted', () => {
    const row = {
      fields: { ID: '1', NAME: '9,99', [RAW_FIELD]: '1;;9,99;x' },
      place,
      issues: [{ code: 'row.columns', message: 'wrong' }],
    };
    expect(JSON.parse(incomingRecord(row, ['ID'], new Set(['PRICE'])).raw)).toEqual({ ID: '1' });
    expect(JSON.parse(incomingRecord(row, ['ID'], new Set()).raw)).toEqual(row.fields);
  });

  it('an incoming record is known by its content where the stream has no key', () => {
    const record = incomingRecord({ fields: { A: '1' }, place }, [], new Set());
    expect(record.identity).toBe(record.hash);
  });

  it.each([
    [{ ID: '' }, 'The key column ID is empty.'],
    [{}, 'The key column ID does not exist; the row has none.'],
    [{ NAME: 'x' }, 'The key column ID does not exist; the row has NAME.'],
    [{ ID: 'A\ud800' }, 'The key column ID has a character that nobody can see: U+D800, as character 2 of "A\\ud800".'],
    [{ ID: 'Ä'.repeat(513) }, 'The key column ID has 1026 bytes; a key may have 1024.'],
    [
      { ID: 'A\u001fB' },
      'The key column ID has a character that nobody can see: U+001F, as character 2 of "A\\u001fB".',
    ],
  ])('an incoming record is quarantined when its key is missing or malformed: %j', (fields, message) => {
    expect(incomingRecord({ fields, place }, ['ID'], new Set()).issues).toMatchObject([
      { code: 'record.key', message },
    ]);
  });

  it('a key of 1,024 bytes is a key, also where the key is that of an item', () => {
    const long = 'Ä'.repeat(512);
    expect(incomingRecord({ fields: { ID: ` ${long} ` }, place }, ['ID'], new Set()).identity).toBe(long);
    const byContent = (key: string) => incomingRecord({ fields: { ID: key }, place }, [], new Set(), () => key);
    expect(byContent(long).identity).toBe(long);
    expect(byContent(`${long}x`)).toMatchObject({ identity: byContent(`${long}x`).hash, issues: [] });
  });

  it('a key of several columns that is too long names all of them', () => {
    const fields = { A: 'x'.repeat(600), B: 'y'.repeat(600) };
    const damaged = { code: 'number.invalid', message: 'No number.', field: 'PRICE', onlyField: true as const };
    for (const issues of [[], [damaged]]) {
      const record = incomingRecord({ fields, place, issues }, ['A', 'B'], new Set());
      expect(record.issues.at(-1)).toMatchObject({
        field: 'A, B',
        message: 'The key columns A, B have 1201 bytes; a key may have 1024.',
        cure: expect.stringContaining('short text'),
      });
      expect(record.identity).toBe(record.hash);
    }
  });

  it('a row that is refused for NUL is kept with the NUL escaped', () => {
    const fields = { ID: 'A\u0000B', NAME: 'x\u0000', PATH: '\\u0000', 'C\u0000': [{ D: '\u0000' }] };
    const { raw, issues } = incomingRecord({ fields, place }, ['ID'], new Set());
    expect(JSON.parse(raw)).toEqual({
      ID: 'A\\u0000B',
      NAME: 'x\\u0000',
      PATH: '\\u0000',
      'C\\u0000': [{ D: '\\u0000' }],
    });
    expect(issues).toHaveLength(1);
    expect(JSON.stringify(issues)).not.toMatch(/(?<!\\)\\u0000/);
  });
});
