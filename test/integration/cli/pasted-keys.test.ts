import { describe, expect, it } from 'vitest';
import { printable, shorten, shortenMiddle } from '../../../src/cli/text/style.ts';
import type { Item } from '../../../src/domain/item.ts';
import { readableKey } from '../../../src/domain/record.ts';
import { findPastedItem, findPastedKey } from '../../../src/operations/named.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const fixture = useLedger();

const LONG = 'A very long key that no table of eighty columns has room for, 0001';
const ITEMS: Item[] = [
  product('4711'),
  product('A 12/3'),
  product('10 / 20'),
  product('product 7'),
  product('x (y)'),
  product(LONG),
  product('two\nlines\u0007'),
  material('4711-M'),
  bomItem('00012001/0010', '4711', '4711-M'),
];

async function find(pasted: string): Promise<string> {
  const { ledger } = fixture;
  return findPastedKey(pasted, {
    reads: ledger.reads,
    async isQuarantined(key) {
      const selection = { states: ['quarantined'] as const, sources: [], keys: [key], deliveryIds: [] };
      return (await ledger.replayCandidates({ selection, afterId: 0, limit: 1 })).length > 0;
    },
  });
}

const stage = () =>
  stageRows(fixture.ledger, {
    ...Object.fromEntries(ITEMS.map((item, n) => [`row-${n}`, items(item)])),
    'P1\u001f10': { status: 'quarantined', issues: [{ code: 'row.value', message: 'wrong' }], blockedProducts: [] },
  });

describe('a key as a command prints it', () => {
  it('a key as a command prints it is found as it is, with the kind in front, the natural key behind, and its escapes', async () => {
    await stage();
    for (const { kind, key, payload } of ITEMS) {
      const word = kind === 'bom_item' ? 'BOM item' : kind;
      const shown = [
        key,
        `${word} ${key}`,
        `${word} ${key} (${JSON.stringify(payload['sku'] ?? '')})`,
        `${kind}/${key}`,
      ];
      for (const text of shown) expect(await find(printable(text)), text).toBe(key);
    }
    expect(await find('SKU-4711')).toBe('SKU-4711');
    expect(await find('passport 4711 (SKU-4711)')).toBe('4711');
    expect(await find('  4711 ')).toBe('4711');
  });

  it('a pasted key is found for a row of several key columns, as the list of the quarantine shows it', async () => {
    await stage();
    expect(await find(readableKey('P1\u001f10'))).toBe('P1\u001f10');
  });

  it('a pasted key is found where it was shortened, if it fits one item', async () => {
    await stage();
    expect(await find(shorten(LONG, 36))).toBe(LONG);
    expect(await find(`product ${shorten(LONG, 36)}`)).toBe(LONG);
    expect(await find(shortenMiddle(LONG, 20))).toBe(LONG);
    expect(await find('4711-…')).toBe('4711-M');
    await expect(find('A very…0002')).rejects.toMatchObject({ code: 'item.unknown' });
    await expect(find('471…')).rejects.toMatchObject({
      code: 'item.unknown',
      message: expect.stringContaining('several'),
    });
  });

  it('a pasted key is found of an item of one kind, and is left as it is where no item has it', async () => {
    await stageRows(fixture.ledger, { one: items(product('10\u001f20')), two: items(material('only a material')) });
    const ofProduct = (text: string) => findPastedItem(text, fixture.ledger.reads, ['product']);
    expect(await ofProduct(readableKey('10\u001f20'))).toBe('10\u001f20');
    expect(await ofProduct('product 10 / 20 (SKU-10)')).toBe('10\u001f20');
    expect(await ofProduct('only a material')).toBe('only a material');
  });

  it('a pasted key is refused where nothing has it, with keys that are near', async () => {
    await stage();
    await expect(find('471')).rejects.toMatchObject({
      code: 'item.unknown',
      suggestion: expect.stringContaining('4711'),
    });
    await expect(find('none at all')).rejects.toMatchObject({ code: 'item.unknown' });
  });
});
