import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { allRecords, madeFile, recordsOf } from './xml.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const AT = { at: '/a/r' };

/** A document that has far more of something than fits into memory, made while it is read. */
function* endless(start: string, piece: string, count: number): Generator<string> {
  yield start;
  const chunk = piece.repeat(Math.ceil(65_536 / piece.length));
  for (let made = 0; made < count; made += chunk.length) yield chunk;
}
const GIGABYTE = 1024 ** 3;

describe('an XML file that is larger than memory in one place', () => {
  it.each([
    ['text of a record', '<a><r><t>', 'x', 'A text, comment or attribute is longer than 16777216 characters.'],
    ['text outside of records', '<a><b>', 'x', 'is longer than 16777216 characters'],
    ['a comment', '<a><!--', 'x', 'is longer than 16777216 characters'],
    ['CDATA', '<a><r><![CDATA[', 'x', 'is longer than 16777216 characters'],
    ['an attribute', '<a><r n="', 'x', 'is longer than 16777216 characters'],
    ['a name', '<a><', 'x', 'is longer than 16777216 characters'],
    ['a document type', '<!DOCTYPE a [ <!--', 'x', 'is longer than 16777216 characters'],
    ['elements within elements', '<a>', '<b>', 'more than 1000 levels deep'],
    ['elements within a record', '<a><r>', '<b>', 'more than 1000 levels deep'],
    [
      'attributes that are long together',
      '<a><r ',
      `${'n'.repeat(9)}="${'x'.repeat(1_000_000)}" `,
      'is longer than 16777216',
    ],
    ['an entity without an end', '<a><r>&', 'x', 'is no reference of XML'],
    ['a character reference without an end', '<a><r>&#', '1', 'is longer than 16777216 characters'],
  ])('an XML file larger than memory in one place ends early: %s', async (_about, start, piece, message) => {
    const file = madeFile(endless(start, piece, GIGABYTE));
    await expect(allRecords(file, AT)).rejects.toThrow(message);
    expect(file.position()).toBeLessThan(20_000_000);
  });

  it('an XML file larger than memory in its attributes ends with an error early', async () => {
    const attributes = (function* () {
      yield '<a><r ';
      for (let index = 0; index < 5_000_000; index += 1_000) {
        yield Array.from({ length: 1_000 }, (_, at) => `n${index + at}="1"`)
          .join(' ')
          .concat(' ');
      }
    })();
    const file = madeFile(attributes);
    await expect(allRecords(file, AT)).rejects.toThrow('An element has more than 1000 attributes.');
    expect(file.position()).toBeLessThan(100_000);
  });

  it('an XML file larger than memory in the name of an element ends with an error', async () => {
    await expect(recordsOf(`<a><${'x'.repeat(2_000)}/></a>`, AT)).rejects.toThrow('longer than 1000 characters');
  });
});

describe('a record that passes a limit', () => {
  const around = (record: string) => `<a>\n<r><n>1</n></r>\n<r><n>2</n>${record}</r>\n<r><n>3</n></r></a>`;

  it.each([
    ['is too long', `<t>${'x'.repeat(200)}</t>`, 'row.length', 'The record is longer than 150 characters.'],
    ['is nested too deep', `${'<b>'.repeat(120)}${'</b>'.repeat(120)}`, 'row.depth', 'more than 100 levels deep'],
    ['has too many members', '<b/>'.repeat(100_001), 'row.members', 'more than 100000 elements and attributes'],
  ])('an XML record that %s costs itself and keeps its first fields', async (_about, record, code, message) => {
    const maxRecordBytes = code === 'row.length' ? 150 : 16_000_000;
    const rows = await recordsOf(around(record), { ...AT, maxRecordBytes });
    expect(rows.map(({ fields }) => fields['n'])).toEqual(['1', '2', '3']);
    expect(rows[1]).toMatchObject({ place: { line: 3 }, issues: [{ code }] });
    expect(rows[1]?.issues?.[0]?.message).toContain(message);
    expect(rows[0]?.issues ?? rows[2]?.issues).toBeUndefined();
  });

  it('an XML record is quarantined alone if its texts together are too long', async () => {
    let heldAtEnd = 0;
    const before = process.memoryUsage().heapUsed;
    const file = madeFile(
      (function* () {
        yield '<a><r><n>1</n><t>';
        yield* endless('', `<![CDATA[${'x'.repeat(1_000_000)}]]>`, 150_000_000);
        collectGarbage();
        heldAtEnd = process.memoryUsage().heapUsed - before;
        yield '</t></r><r/></a>';
      })(),
    );
    const [row, next] = await allRecords(file, AT);
    expect(row).toMatchObject({ fields: { n: '1' }, issues: [{ code: 'row.length' }] });
    expect(next?.issues).toBeUndefined();
    // All texts together are 150 MB long.
    expect(heldAtEnd).toBeLessThan(60_000_000);
  });

  it('an XML record that passes a limit costs the records around it too, and those in it are read', async () => {
    const text = `<a><p><n>1</n><p><n>2</n></p><t>${'x'.repeat(200)}</t><p><n>3</n></p></p><p><n>4</n></p></a>`;
    const rows = await recordsOf(text, { at: '//p', maxRecordBytes: 150 });
    expect(rows.map(({ fields, issues }) => [fields['n'], issues?.[0]?.code])).toEqual([
      ['2', undefined],
      ['1', 'row.length'],
      ['3', undefined],
      ['4', undefined],
    ]);
  });

  it('an XML text longer than the parser holds is read only where the config allows such long records', async () => {
    const chunks = ['<a><r><t>', ...Array<string>(20).fill('x'.repeat(1_000_000)), '</t></r></a>'];
    await expect(allRecords(madeFile(chunks), AT)).rejects.toThrow('is longer than 16777216 characters');
    const [record] = await allRecords(madeFile(chunks), { ...AT, maxRecordBytes: 30_000_000 });
    expect(record?.fields['t']).toHaveLength(20_000_000);
  });
});
