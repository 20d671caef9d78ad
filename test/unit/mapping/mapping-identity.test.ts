import { describe, expect, it } from 'vitest';
import { identifyingText } from '../../../src/domain/natural-key.ts';
import { incomingRecord } from '../../../src/pipeline/incoming-record.ts';
import { type Draft, issuesOf, itemsOf, mapperOf } from '../../support/connectors/map-row.ts';

const PRODUCT: Draft = { to: 'product', key: 'row.A', fields: { sku: 'row.A', name: 'row.N' } };
const PART: Draft = {
  to: 'bom_item',
  key: 'row.A',
  refs: { product: 'row.A', material: 'row.B' },
  fields: { quantity: '"1"' },
};

/** What exports and databases put around a text that identifies. */
const AROUND = [
  ['a byte order mark', (text: string) => `\ufeff${text}`],
  ['two byte order marks', (text: string) => `\ufeff\ufeff${text}`],
  ['the padding of CHAR', (text: string) => text.padEnd(10)],
  ['no-break spaces', (text: string) => `\u00a0${text}\u00a0`],
  ['line ends', (text: string) => `\r\n${text}\n`],
  ['a wide space and a byte order mark', (text: string) => `\u3000\ufeff${text} \ufeff`],
] as const;

/** Characters that nobody can see inside of a text, and how messages show them. */
const INSIDE = [
  ['A1\nB', 'U+000A', 'A1⏎B'],
  ['A1\r\nB', 'U+000D', 'A1⏎B'],
  ['A1\tB', 'U+0009', 'A1\\u0009B'],
  ['A1\u0000B', 'U+0000', 'A1\\u0000B'],
  ['A1\ufeffB', 'U+FEFF', 'A1\\ufeffB'],
  ['A1\u2028B', 'U+2028', 'A1\\u2028B'],
  ['A1\u0085B', 'U+0085', 'A1\\u0085B'],
] as const;

describe('a text that identifies', () => {
  it.each(AROUND)('a key, a natural key and a ref have no part in %s', async (_, around) => {
    const [product] = itemsOf(await mapperOf([PRODUCT]), { A: around('A1'), N: around('Pump') });
    expect(product).toMatchObject({ key: 'A1', payload: { sku: 'A1', name: around('Pump') } });
    const [part] = itemsOf(await mapperOf([PART]), { A: around('A1'), B: around('M-1') });
    expect(part?.refs.map(({ key }) => key)).toEqual(['A1', 'M-1']);
    const row = { fields: { A: around('A1'), B: around('2') }, place: {} };
    expect(incomingRecord(row, ['A', 'B'], new Set())).toMatchObject({ identity: 'A1\u001f2', issues: [] });
  });

  it.each(INSIDE)('a character inside %j is an issue that shows it', async (text, name, shown) => {
    const what = expect.stringMatching(
      new RegExp(`nobody can see: ${name.replace('+', '\\+')}, .*"${escaped(shown)}"`),
    );
    const issue = { code: 'key.characters', message: what };
    const issues = issuesOf(await mapperOf([PRODUCT]), { A: text, N: 'Pump' });
    expect(issues[0]).toMatchObject({ ...issue, field: 'key' });
    expect(issues.map(({ field }) => field)).toContain('sku');
    expect(issuesOf(await mapperOf([PART]), { A: '1', B: text })).toMatchObject([{ ...issue, field: 'refs.material' }]);
    const { issues: ofRow } = incomingRecord({ fields: { A: text }, place: {} }, ['A'], new Set());
    expect(ofRow).toMatchObject([{ code: 'record.key', field: 'A', message: what }]);
  });

  it('the natural key is the field by which the profile identifies, and no other field changes', async () => {
    const material: Draft = { to: 'material', key: 'row.A', fields: { code: 'row.C', name: 'row.N' } };
    const row = { A: '1', N: ' Steel ' };
    const mapper = await mapperOf([material]);
    expect(itemsOf(mapper, { ...row, C: ' S1' })[0]?.payload).toEqual({ code: 'S1', name: ' Steel ' });
    expect(itemsOf(mapper, { ...row, C: '' })[0]?.payload).toEqual({ name: 'Steel' });
    const naturalKeys = { product: ['sku'], material: ['name'] };
    const byName = await mapperOf([material], import.meta.dirname, { naturalKeys });
    expect(itemsOf(byName, { ...row, C: ' S1' })[0]?.payload).toEqual({ code: ' S1', name: 'Steel' });
    expect(byName.revision).not.toBe(mapper.revision);
  });

  it('a row whose key has a line end inside keeps its record, and is in quarantine', () => {
    const { identity, issues } = incomingRecord({ fields: { A: ' A\nB ' }, place: {} }, ['A'], new Set());
    expect(identity).toBe('A\nB');
    expect(issues).toHaveLength(1);
  });

  it('a row whose key column is only padding, or a name of every object, has no key', () => {
    for (const fields of [{ A: ' \ufeff' }, { constructor: 'A1' }]) {
      const { issues } = incomingRecord({ fields: fields as never, place: {} }, ['A'], new Set());
      expect(issues).toMatchObject([{ code: 'record.key' }]);
    }
    expect(incomingRecord({ fields: { A: '1' }, place: {} }, ['toString'], new Set()).issues).toMatchObject([
      { message: 'The key column toString does not exist; the row has A.' },
    ]);
  });

  it('text in any language identifies as it stands', () => {
    for (const text of ['Ä-1', '部品', 'क्ष', '🔩', 'A B', 'A\u200dB', 'e\u0301']) {
      expect(identifyingText(text)).toEqual({ text, unseen: null });
    }
  });
});

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\');
}
