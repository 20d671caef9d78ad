import { describe, expect, it } from 'vitest';
import { columnsOf } from '../../../src/cli/init/columns.ts';
import { keyColumnsOf } from '../../../src/cli/init/key-columns.ts';
import { todoOf } from '../../../src/cli/init/write-config.ts';
import { partsOf, proposed, rowsOf, textOf } from './proposed.ts';

describe('the key of records', () => {
  it('the proposed key is the column that is filled and different in all records; a number of articles goes before others', () => {
    const rows = rowsOf(6, (at) => ({
      name: `x${at}`,
      uuid: `u${at}`,
      Artikelnummer: `A${at}`,
      note: at === 3 ? '' : `n${at}`,
    }));
    const { key } = proposed(rows);
    expect(key?.columns.map(({ label }) => label)).toEqual(['Artikelnummer']);
    expect(key?.others.map(({ label }) => label)).toEqual(['uuid', 'name']);
  });

  it('the proposed key is two columns if only both together are different', () => {
    const rows = rowsOf(12, (at) => ({ STLNR: `B${Math.floor(at / 3)}`, POSNR: `${at % 3}0`, qty: '1' }));
    expect(proposed(rows).key).toMatchObject({ columns: [{ label: 'STLNR' }, { label: 'POSNR' }] });
    expect(proposed(rows).line('key')?.expression).toBe('row.STLNR + "/" + row.POSNR');
  });

  it('the proposed key of a BOM item has its product in it, although others may be different in all records of a small file', () => {
    const line = (at: number) => ({ STLNR: `B${at % 2}`, POSNR: `${at}0`, IDNRK: `M${at}`, MENGE: '1' });
    expect(proposed(rowsOf(6, line)).key).toMatchObject({ columns: [{ label: 'STLNR' }, { label: 'POSNR' }] });
    const rows = ['a', 'b'].flatMap((part) =>
      ['1', '2'].map((POSNR) => ({ STLNR: 'B', POSNR, IDNRK: part, MENGE: '1' })),
    );
    expect(proposed(rows).line('key')?.expression).toBe('row.STLNR + "/" + row.POSNR + "/" + row.IDNRK');
    expect(proposed(rowsOf(6, (at) => ({ ID: `${at}`, ...line(at) }))).line('key')?.expression).toBe('row.ID');
  });

  it('an amount is a part of the proposed key only where nothing else distinguishes records, and then a person has to look', () => {
    const tier = (at: number) => ({ sku: `A${Math.floor(at / 2)}`, quantity: at % 2 === 0 ? '1' : '10' });
    expect(proposed(rowsOf(6, (at) => ({ ...tier(at), list: `L${at % 2}` }))).key).toMatchObject({
      columns: [{ label: 'sku' }, { label: 'list' }],
      isFlawed: false,
    });
    expect(proposed(rowsOf(6, tier)).key).toMatchObject({
      columns: [{ label: 'sku' }, { label: 'quantity' }],
      isFlawed: true,
      reason: expect.stringContaining('keep quantity in it only if'),
    });
  });

  it('equal rows of a bill are the same item if they have a position', () => {
    const rows = ['10', '10', '20'].map((POSNR) => ({ STLNR: 'B', POSNR, IDNRK: 'M', MENGE: '1' }));
    expect(proposed(rows).key).toMatchObject({ columns: [{ label: 'STLNR' }, { label: 'POSNR' }], isFlawed: false });
  });

  it('the proposed key is none if a column has a value twice or none once, and the line says so', () => {
    const rows = [{ sku: 'A' }, { sku: 'A' }, { sku: '' }];
    expect(proposed(rows).key).toBeNull();
    expect(proposed(rows).line('key')).toMatchObject({ expression: 'row.sku', isTodo: true });
    expect(proposed([{ sku: 'A' }, { sku: 'B' }, { sku: 'A ' }]).key).toBeNull();
  });

  it('the proposed key is a number of articles of which a few are there twice, before names and prices that happen to differ', () => {
    const numbers = ['M-1', 'M-2', 'M-3', 'M-2', 'M-4', 'M-5'];
    const rows = numbers.map((number, at) => ({ 'Art.-Nr.': number, Bezeichnung: `Stuhl ${at}`, Preis: `${at},50` }));
    const { line, key } = proposed(rows);
    expect(key).toMatchObject({ columns: [{ label: 'Art.-Nr.' }], isFlawed: true });
    expect(line('key')).toMatchObject({
      expression: 'row["Art.-Nr."]',
      isTodo: true,
      reason: '5 of 6 values are different. Only one row of each value can be sent, and several rows have "M-2"',
    });
    expect(line('sku')).toMatchObject({ expression: 'row["Art.-Nr."]', isTodo: false });
  });

  it('the proposed key is a number of articles that a few rows lack, before GTINs, and both lines of the key ask for a person', () => {
    const numbers = ['10101', '10102', '', '10104', '10102', '10106', '10107', '10108'];
    const rows = numbers.map((Artikelnummer, at) => ({
      'EAN-code': `400638133393${at}`,
      Artikelnummer,
      Naam: `Pan ${at}`,
    }));
    const { line } = proposed(rows);
    const reason =
      'filled in 7 of 8 records. A row without a value is quarantined. 6 of 7 values are different. Only one row of each value can be sent, and several rows have "10102"';
    expect(proposed([...rows, { ...rows[1] }]).line('key')).toMatchObject({ expression: 'row.Artikelnummer', reason });
    expect(line('key')).toMatchObject({ expression: 'row.Artikelnummer', isTodo: true, reason });
    expect(line('sku')).toMatchObject({ expression: 'row.Artikelnummer', isTodo: false });
    expect(todoOf(partsOf(rows))).toEqual(expect.arrayContaining([`key of the stream: ${reason}`, `key: ${reason}`]));
    const text = textOf(rows).replaceAll(/\n\s+# /g, ' ');
    expect(text).toMatch(/TODO filled in 7 of 8 .*\n +key: \[Artikelnummer\]/);
    const few = numbers.map((number, at) => ({ Artikelnummer: at < 4 ? number : '', EAN: `400638133393${at}` }));
    expect(proposed(few).line('key')).toMatchObject({
      expression: 'row.EAN',
      reason: 'filled and different in all 8 records; Artikelnummer has 3 different values in 8 records',
    });
  });

  it('the proposed key is no number of articles with doubles if another column is an id, or if the rows have quantities', () => {
    const numbers = ['M-1', 'M-2', 'M-3', 'M-2', 'M-4', 'M-5'];
    const withIds = numbers.map((number, at) => ({ 'Art.-Nr.': number, uuid: `u${at}` }));
    expect(proposed(withIds).key).toMatchObject({ columns: [{ label: 'uuid' }], isFlawed: false });
    const bom = numbers.map((number, at) => ({ MATNR: number, IDNRK: `part ${at % 4}`, MENGE: '1' }));
    expect(proposed(bom).key).toMatchObject({ columns: [{ label: 'MATNR' }, { label: 'IDNRK' }], isFlawed: false });
  });

  it('the proposed key has a note when only a part of the file was seen', () => {
    const rows = rowsOf(3, (at) => ({ sku: `A${at}` }));
    const { columns, repeats } = columnsOf(rows);
    expect(keyColumnsOf(columns, { repeats, isWhole: false, owner: null })?.reason).toContain('the first 3 records');
  });

  const lamp = (at: number) => ({ Indeks: `LMP-00${at}`, Nazwa: `Lampa ${at}`, Masa: `${at},45` });

  it('the proposed key counts records that are equal in all columns once', () => {
    const { line } = proposed([...rowsOf(6, lamp), lamp(3)]);
    const reason = 'filled and different in all 7 records, equal ones counted once';
    expect(line('key')).toMatchObject({ expression: 'row.Indeks', isTodo: false, reason: `${reason}; so is Nazwa` });
    expect(line('sku')).toMatchObject({ expression: 'row.Indeks', isTodo: false });
    const pairs = rowsOf(6, (at) => ({ list: `B${at % 3}`, place: `${at % 2}`, text: 'x' }));
    expect(proposed([...pairs, ...pairs]).key?.columns.map(({ label }) => label)).toEqual(['list', 'place']);
  });

  it('the proposed key is a column of codes with a few doubles, whatever its name, and the SKU follows it', () => {
    const coded = (at: number) => ({ Coś: `LMP-${100 + at}`, Nazwa: 'Lampa', Kolor: at % 2 === 0 ? 'biały' : 'szary' });
    const { line } = proposed([...rowsOf(11, coded), { ...coded(3), Nazwa: 'Kinkiet' }]);
    expect(line('key')).toMatchObject({ expression: 'row["Coś"]', isTodo: true });
    expect(line('key')?.reason).toBe(
      '11 of 12 values are different. Only one row of each value can be sent, and several rows have "LMP-103"; no other column has codes that differ so often',
    );
    expect(line('sku')).toMatchObject({ expression: 'row["Coś"]', isTodo: true });
    const ambiguous = rowsOf(11, (at) => ({ one: `A-${at}`, two: `B-${at}` }));
    expect(
      proposed([...ambiguous, { one: 'A-3', two: 'B-4' }, { one: 'A-4', two: 'B-4' }]).key?.columns,
    ).not.toHaveLength(1);
  });

  it('the proposed key is an id of which a few are there twice', () => {
    const rows = [...rowsOf(6, (at) => ({ id: `${at * 50}`, text: 'some words' })), { id: '50', text: 'other words' }];
    expect(proposed(rows).line('key')).toMatchObject({ expression: 'row.id', isTodo: true });
  });

  it('the proposed key is no column with prices or weights', () => {
    const rows = rowsOf(6, (at) => ({ price: `${at},45`, name: at < 2 ? 'Lamp' : `Lamp ${at}` }));
    expect(proposed(rows).key).toBeNull();
  });

  it('the proposed key is left to a person with an example if there is none', () => {
    const rows = [
      { Indeks: 'A', Nazwa: '' },
      { Indeks: '', Nazwa: 'x' },
      { Indeks: 'A', Nazwa: 'x' },
    ];
    expect(proposed(rows.map(({ Nazwa }) => ({ Nazwa }))).line('key')).toMatchObject({
      expression: null,
      reason:
        'no column is filled and different in all records; write what identifies an item, for example key: row.Nazwa',
    });
    expect(textOf(rows)).toContain('# key: [Indeks]');
  });
});
