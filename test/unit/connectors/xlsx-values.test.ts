import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readWorkbook, textCell, textRow, type WorkbookParts } from '../../support/connectors/workbook.ts';

/** The value of one cell, or the code of its issue. */
async function valueOf(cell: string, parts: WorkbookParts = {}, stream: object = {}): Promise<unknown> {
  const sheet = `${textRow(1, 'v', 'k')}<row r="2">${cell}${textCell('B2', 'x')}</row>`;
  const [row] = await readWorkbook({ ...parts, sheet }, stream);
  return row?.issues === undefined ? row?.fields['v'] : row.issues[0]?.code;
}

const number = (text: string, style = 0) => `<c r="A2" s="${style}"><v>${text}</v></c>`;

describe('numbers', () => {
  it.each([
    ['4006381333931', '4006381333931'],
    ['4.006381333931E+12', '4006381333931'],
    ['4.006381333931E12', '4006381333931'],
    ['0.86999999999999999', '0.87'],
    ['0.30000000000000004', '0.3'],
    ['1.50', '1.50'],
    ['-12.5', '-12.5'],
    ['1E-3', '0.001'],
    ['122.99999999999999', '123'],
    ['27', '27'],
    ['0', '0'],
    ['', ''],
  ])('numbers of a workbook keep the digits of %s', async (stored, text) => {
    expect(await valueOf(number(stored))).toBe(text);
  });

  it.each(['4.0E+12', '4.00638E+12', '1.2345678901234501E+17', '123456789012345678', '1000000000000000', '1E+400'])(
    'numbers of a workbook are an issue where the file has lost digits: %s',
    async (stored) => {
      expect(await valueOf(number(stored))).toMatch(/^cell\.(shortened|number)$/);
    },
  );

  it('numbers of a workbook are an issue where a GTIN was stored as the short text that Excel shows', async () => {
    const [row] = await readWorkbook({
      sheet: `${textRow(1, 'sku', 'gtin')}${textRow(2, 'A-1', '4.00638E+12')}${textRow(3, 'A-2', '04006381333931')}`,
    });
    expect(row?.issues).toEqual([
      {
        code: 'cell.shortened',
        field: 'gtin',
        value: '4.00638E+12',
        message: 'Cell B2 of the sheet Sheet1 holds 4.00638E+12, which has lost the last digits of a longer number.',
        cure: expect.stringMatching(/\.$/),
        onlyField: true,
      },
    ]);
  });

  it('numbers of a workbook are an issue where the cell has no number', async () => {
    expect(await valueOf(number('12,5'))).toBe('cell.number');
  });

  it.each([
    ['0000000', '123', '0000123'],
    ['00000000000000', '4006381333931', '04006381333931'],
    ['"MAT-"00000', '42', 'MAT-00042'],
    ['000\\-000', '1234', '001-234'],
    ['000-000', '1234567', '1234-567'],
    ['"0815-"000', '7', '0815-007'],
    ['00;[Red]-00', '5', '05'],
    ['0', '5', '5'],
    ['@', '123', '123'],
    ['#,##0', '1234', '1234'],
    ['0.00', '1.4875', '1.4875'],
    ['00.00', '1.5', '1.5'],
    ['0%', '0.25', '0.25'],
    ['0.00E+00', '4006381333931', '4006381333931'],
    ['0" days"', '3', '3'],
    ['[>999]000-000;000', '12', '12'],
    ['[$€-407] #,##0.00', '7.5', '7.5'],
    ['General', '12', '12'],
    ['00000', '-42', '-42'],
  ])('numbers with the format %s show %s as %s', async (format, stored, text) => {
    expect(await valueOf(number(stored, 1), { formats: [format] })).toBe(text);
  });

  it('whole numbers of a workbook up to 15 digits survive as text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 999_999_999_999_999 }), { minLength: 1 }), async (all) => {
        const rows = all.map((value, index) => `<row r="${index + 2}"><c><v>${value}</v></c></row>`);
        const read_ = await readWorkbook({ sheet: textRow(1, 'v') + rows.join('') });
        expect(read_.map(({ fields }) => fields['v'])).toEqual(all.map(String));
      }),
      { numRuns: 20 },
    );
  });
});

describe('dates', () => {
  const on = (stored: string, format: string, properties = '') =>
    valueOf(number(stored, 1), { formats: [format], properties });

  it.each([
    ['1', 'yyyy-mm-dd', '1900-01-01'],
    ['59', 'dd.mm.yyyy', '1900-02-28'],
    ['61', 'd/m/yy', '1900-03-01'],
    ['45352', 'yyyy\\-mm\\-dd', '2024-03-01'],
    ['45352', '[$-407]d. mmmm yyyy;@', '2024-03-01'],
    ['45352', 'mmm-yy', '2024-03-01'],
    ['2958465', 'yyyy-mm-dd', '9999-12-31'],
    ['45352.354166666664', 'yyyy-mm-dd hh:mm', '2024-03-01T08:30:00'],
    ['45352', 'yyyy-mm-dd hh:mm', '2024-03-01T00:00:00'],
    ['45352.354166666664', 'yyyy-mm-dd', '2024-03-01'],
    ['45352.999999999', 'yyyy-mm-dd hh:mm', '2024-03-02T00:00:00'],
    ['0.354166666666667', 'h:mm AM/PM', '08:30:00'],
    ['1.5', '[h]:mm:ss', '36:00:00'],
    ['0.5', 'mm:ss.0', '12:00:00'],
  ])('dates of a workbook become ISO text: %s with %s is %s', async (stored, format, text) => {
    expect(await on(stored, format)).toBe(text);
  });

  it.each([
    ['0', '1904-01-01'],
    ['1', '1904-01-02'],
    ['43890', '2024-03-01'],
  ])('dates count from 1904 where the workbook says so: %s is %s', async (stored, text) => {
    expect(await on(stored, 'yyyy-mm-dd', 'date1904="1"')).toBe(text);
  });

  it.each(['60', '0', '-1', '2958466', '1E+30'])('dates are an issue for a missing day: %s', async (stored) => {
    expect(await on(stored, 'yyyy-mm-dd')).toBe('cell.date');
  });

  it.each(['0x10', '1,5', '0b11'])('dates are an issue for what is no decimal number: %s', async (stored) => {
    expect(await on(stored, 'yyyy-mm-dd')).toBe('cell.number');
  });

  it.each([
    [14, '2024-03-01'],
    [22, '2024-03-01T00:00:00'],
    [20, '00:00:00'],
    [58, '2024-03-01'],
    [49, '45352'],
    [1, '45352'],
  ])('dates are known by the format %i that no file writes out', async (id, text) => {
    expect(await valueOf(number('45352', 1), { formatIds: [id] })).toBe(text);
  });

  it('dates of a workbook agree with the calendar for every day', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 61, max: 2_958_465 }), { minLength: 20 }), async (days) => {
        const rows = days.map((day) => `<row><c s="1"><v>${day}</v></c></row>`).join('');
        const found = await readWorkbook({ sheet: textRow(1, 'v') + rows, formats: ['yyyy-mm-dd'] });
        const expected = days.map((day) => new Date(Date.UTC(1899, 11, 30 + day)).toISOString().slice(0, 10));
        expect(found.map(({ fields }) => fields['v'])).toEqual(expected);
      }),
      { numRuns: 10 },
    );
  });

  it('dates that the file writes as text stay as they are', async () => {
    expect(await valueOf('<c r="A2" t="d"><v>2024-03-01T08:30:00</v></c>')).toBe('2024-03-01T08:30:00');
  });
});

describe('other cells', () => {
  it('cells of a workbook give true and false', async () => {
    expect(await valueOf('<c r="A2" t="b"><v>1</v></c>')).toBe(true);
    expect(await valueOf('<c r="A2" t="b"><v>0</v></c>')).toBe(false);
  });

  it('cells of a workbook give the stored result of a formula', async () => {
    expect(await valueOf('<c r="A2" t="str"><f>A1&amp;"x"</f><v>007</v></c>')).toBe('007');
    expect(await valueOf('<c r="A2"><f>1+1</f><v>2</v></c>')).toBe('2');
    expect(await valueOf('<c r="A2" t="str"><f>""</f><v></v></c>')).toBe('');
    expect(await valueOf('<c r="A2" t="str"><f>""</f></c>')).toBe('');
  });

  it('cells of a workbook are an issue where a formula has no stored result', async () => {
    expect(await valueOf('<c r="A2"><f>VLOOKUP(A1,B:C,2,0)</f></c>')).toBe('cell.formula');
    expect(await valueOf('<c r="A2"><f>VLOOKUP(A1,B:C,2,0)</f><v /></c>')).toBe('cell.formula');
  });

  it('cells of a workbook are an issue where they have an error value, unless the config takes it for nothing', async () => {
    const missing = '<c r="A2" t="e"><f>1/0</f><v>#N/A</v></c>';
    expect(await valueOf(missing)).toBe('cell.error');
    expect(await valueOf(missing, {}, { emptyErrors: ['#N/A'] })).toBe('');
    expect(await valueOf(missing, {}, { emptyErrors: ['#REF!'] })).toBe('cell.error');
  });

  it('cells of a workbook put rich text together and leave out phonetic hints', async () => {
    const strings = [
      '<r><rPr><b/></rPr><t>Nüt</t></r><r><t xml:space="preserve">zel </t></r><rPh sb="0" eb="1"><t>x</t></rPh>',
    ];
    expect(await valueOf('<c r="A2" t="s"><v>0</v></c>', { strings })).toBe('Nützel ');
    expect(await valueOf(`<c r="A2" t="inlineStr"><is>${strings[0]}</is></c>`)).toBe('Nützel ');
  });

  it('cells of a workbook decode what XML cannot hold, and only that', async () => {
    expect(await valueOf(textCell('A2', 'a_x000D_b_x005F_x000D_'))).toBe('a\rb_x000D_');
    expect(await valueOf(textCell('A2', 'MAX_x1_y'))).toBe('MAX_x1_y');
  });

  it('cells of a workbook keep white space, entities and characters beyond the basic plane', async () => {
    expect(await valueOf(textCell('A2', ' <Größe> & 😀\n '))).toBe(' <Größe> & 😀\n ');
  });

  it('cells of a workbook are an issue where the shared text is missing', async () => {
    expect(await valueOf('<c r="A2" t="s"><v>7</v></c>', { strings: ['<t>a</t>'] })).toBe('cell.text');
  });

  it('cells of a workbook are an issue where the text is too long, and the rows after it are read', async () => {
    const rows = `${textRow(1, 'v')}${textRow(2, 'x'.repeat(101))}${textRow(3, 'y'.repeat(100))}`;
    const read_ = await readWorkbook({ sheet: rows }, { maxCellCharacters: 100 });
    expect(read_.map(({ issues }) => issues?.[0]?.code)).toEqual(['row.length', undefined]);
  });
});
