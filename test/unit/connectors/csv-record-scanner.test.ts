import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RecordScanner } from '../../../connectors/csv/record-scanner.ts';
import { OPTIONS } from '../../../connectors/csv/schema.ts';

const Options = z.object(OPTIONS);

interface Scanned {
  values: string[];
  line: number;
  defect?: string;
  raw?: string;
}

/** Scans text that comes in pieces of the given lengths, the last of which repeats. */
function scan(text: string, options: z.input<typeof Options> = {}, pieces: number[] = [text.length + 1]): Scanned[] {
  const scanner = new RecordScanner(Options.parse(options));
  const records: Scanned[] = [];
  let position = 0;
  for (let index = 0; position <= text.length; index++) {
    const length = pieces[Math.min(index, pieces.length - 1)] ?? 1;
    const final = position + length > text.length;
    scanner.feed(text.slice(position, position + length), final);
    while (scanner.next()) {
      const record: Scanned = { values: [...scanner.values], line: scanner.recordLine };
      records.push(scanner.defect === undefined ? record : { ...record, defect: scanner.defect, raw: scanner.raw() });
    }
    position += length;
  }
  return records;
}

const values = (text: string, options?: z.input<typeof Options>) => scan(text, options).map((record) => record.values);

describe('well-formed rows', () => {
  it('the CSV scanner reads quotes, doubled quotes, delimiters and line ends in values', () => {
    expect(scan('a,b\n"x ""y"", z","1\n2"\n3,4\n')).toEqual([
      { values: ['a', 'b'], line: 1 },
      { values: ['x "y", z', '1\n2'], line: 2 },
      { values: ['3', '4'], line: 4 },
    ]);
  });

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
    ['CR CR LF', '\r\r\n'],
  ])('the CSV scanner finds out that rows end with %s', (_name, end) => {
    const text = ['a,b', '1,"x"', '"2",y', '3,z', '"4","w"', ''].join(end);
    for (const piece of [text.length + 1, 1, 2, 3, 5]) {
      expect(scan(text, {}, [piece])).toEqual([
        { values: ['a', 'b'], line: 1 },
        { values: ['1', 'x'], line: 2 },
        { values: ['2', 'y'], line: 3 },
        { values: ['3', 'z'], line: 4 },
        { values: ['4', 'w'], line: 5 },
      ]);
    }
  });

  it('the CSV scanner reads quoted rows after the byte order mark of a joined file', () => {
    const text = '"a","b"\n"1","x"\n\ufeff"2","y"\n\ufeff3,z\n\ufeff';
    for (const piece of [text.length + 1, 1, 2, 3]) {
      expect(
        scan(text, {}, [piece])
          .map((record) => record.values)
          .slice(0, 4),
      ).toEqual([
        ['a', 'b'],
        ['1', 'x'],
        ['2', 'y'],
        ['\ufeff3', 'z'],
      ]);
    }
  });

  it('the CSV scanner takes LF and CRLF in one file, as joined exports have them', () => {
    expect(values('a,b\n1,2\r\n3,"4"\r\n5,6\n')).toEqual([
      ['a', 'b'],
      ['1', '2'],
      ['3', '4'],
      ['5', '6'],
    ]);
  });

  it('the CSV scanner counts CRLF inside quotes as one line', () => {
    expect(scan('a,b\r\n"x\r\ny",1\r\n2,3\r\n').at(-1)).toEqual({ values: ['2', '3'], line: 4 });
  });

  it('the CSV scanner keeps a CR that stands before a delimiter', () => {
    expect(values('x,y\na\r,"b"\n')).toEqual([
      ['x', 'y'],
      ['a\r', 'b'],
    ]);
  });

  it('the CSV scanner takes the last row without a line end', () => {
    expect(values('a,b\n1,')).toEqual([
      ['a', 'b'],
      ['1', ''],
    ]);
    expect(values('a,b\n1,""')).toEqual([
      ['a', 'b'],
      ['1', ''],
    ]);
    expect(values('a,b\r\n1,"2"\r')).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ]);
  });

  it('the CSV scanner skips blank lines but not an empty quoted value', () => {
    expect(scan('a\n\n\r\n""\nb')).toEqual([
      { values: ['a'], line: 1 },
      { values: [''], line: 4 },
      { values: ['b'], line: 5 },
    ]);
  });

  it('the CSV scanner keeps white space unless told to trim, and never trims inside quotes', () => {
    const text = 'a , b\n " x " ,y\t\n';
    expect(values('a , b\n')).toEqual([['a ', ' b']]);
    expect(values(text, { trim: true })).toEqual([
      ['a', 'b'],
      [' x ', 'y'],
    ]);
    expect(values('a\tb\n "x"\t\t"y"\n', { trim: true, delimiter: '\t' })).toEqual([
      ['a', 'b'],
      ['x', '', 'y'],
    ]);
  });

  it('the CSV scanner reads delimiters and terminators of several characters, and counts their lines', () => {
    expect(scan('1+|a+&|\n2+|"x+|y"&|\n3+|z\nz&|\n4+|&|', { delimiter: '+|', recordDelimiter: '&|\n' })).toEqual([
      { values: ['1', 'a+'], line: 1 },
      { values: ['2', 'x+|y'], line: 2 },
      { values: ['3', 'z\nz'], line: 3 },
      { values: ['4', '&|'], line: 5 },
    ]);
  });

  it('the CSV scanner takes quotes as text when the file has none', () => {
    expect(values('12" pipe;"x\n"', { delimiter: ';', quote: null })).toEqual([['12" pipe', '"x'], ['"']]);
  });

  it('the CSV scanner reads an escape character that is not the quote, and leaves other backslashes alone', () => {
    expect(values('"a \\"b\\" \\\\",C:\\temp\n"c:\\new","\\\\"\n', { escape: '\\' })).toEqual([
      ['a "b" \\', 'C:\\temp'],
      ['c:\\new', '\\'],
    ]);
  });

  it('the CSV scanner skips comments and lines before the header, and counts them', () => {
    expect(scan('Report "1\nof 2\n# note\na,b\n# "x\n1,#2\n', { skipLines: 2, comment: '#' })).toEqual([
      { values: ['a', 'b'], line: 4 },
      { values: ['1', '#2'], line: 6 },
    ]);
  });
});

describe('broken rows', () => {
  it.each([
    ['text after a closing quote', '2,"x"y,3', 'text-after-quote'],
    ['a quote inside a plain value', '2,x"y,3', 'stray-quote'],
    ['a quote that is never closed', '2,"xy,3', 'unclosed-quote'],
  ])('a broken CSV row costs nothing but itself: %s', (_name, row, defect) => {
    expect(scan(`a,b,c\n1,2,3\n${row}\n4,5,6\n7,8,9\n`)).toEqual([
      { values: ['a', 'b', 'c'], line: 1 },
      { values: ['1', '2', '3'], line: 2 },
      { values: ['2'], line: 3, defect, raw: row },
      { values: ['4', '5', '6'], line: 4 },
      { values: ['7', '8', '9'], line: 5 },
    ]);
  });

  it('a broken CSV row costs nothing but itself when a later quote makes the fault show', () => {
    const found = scan('a,b\n1,"x\n2,y\n3,"z"\n4,w\n');
    expect(found.map((record) => [record.values[0], record.line, record.defect])).toEqual([
      ['a', 1, undefined],
      ['1', 2, 'unclosed-quote'],
      ['2', 3, undefined],
      ['3', 4, undefined],
      ['4', 5, undefined],
    ]);
  });

  it.each([
    ['2,"Seal,DE\n3,"Motor",SE\n', {}, 'unclosed-quote'],
    ['"2,Seal,DE\n"3",Motor,SE\n', {}, 'unclosed-quote'],
    ['2,"Seal,DE\r\n3, "Motor",SE\r\n', { trim: true }, 'unclosed-quote'],
    ['2,"Seal" big,DE\n3,"Motor",SE\n', {}, 'text-after-quote'],
    ['2,"two\nlines"big,DE\n3,"Motor",SE\n', {}, 'text-after-quote'],
  ])('a broken CSV row has an unclosed quote where the next quote opens a value: %j', (text, options, defect) => {
    const found = scan(text, options);
    expect(found[0]).toMatchObject({ line: 1, defect });
    expect(found.at(-1)).toMatchObject({ values: ['3', 'Motor', 'SE'] });
  });

  it('a broken CSV row is reported when the file ends inside quotes', () => {
    expect(scan('a,b\n1,"cut off').at(-1)).toEqual({
      values: ['1'],
      line: 2,
      defect: 'unclosed-quote',
      raw: '1,"cut off',
    });
  });

  it('a CSV row that is too long is cut and skipped, wherever the text was split', () => {
    const text = `a,b\n1,${'x'.repeat(500)},"${'y"'.repeat(300)}\n2,3\n`;
    for (const piece of [1, 7, 64, 100, 5_000]) {
      const found = scan(text, { maxRecordBytes: 100 }, [piece]);
      expect(found.map((record) => [record.values[0], record.line, record.defect])).toEqual([
        ['a', 1, undefined],
        [undefined, 2, 'too-long'],
        ['2', 3, undefined],
      ]);
    }
  });

  it('a CSV quote that is closed beyond the limit counts as not closed, wherever the text was split', () => {
    const text = `a,"${'x\n'.repeat(60)}"\n1,2\n`;
    for (const piece of [1, 64, 5_000]) {
      const found = scan(text, { maxRecordBytes: 100 }, [piece]);
      expect(found[0]).toMatchObject({ defect: 'unclosed-quote', raw: 'a,"x' });
      expect(found.at(-1)).toEqual({ values: ['1', '2'], line: 62 });
    }
    expect(scan(text, { maxRecordBytes: 200 })[0]?.defect).toBeUndefined();
  });

  it('a CSV quote that is not closed within the limit costs its line', () => {
    const lines = Array.from({ length: 50 }, (_, index) => `${index},line number ${index}`);
    for (const piece of [1, 64, 5_000]) {
      const found = scan(`a,"b\n${lines.join('\n')}\n`, { maxRecordBytes: 100 }, [piece]);
      expect(found[0]).toMatchObject({ defect: 'unclosed-quote', raw: 'a,"b' });
      expect(found.slice(1).map((record) => record.values.join())).toEqual(lines);
    }
  });
});

describe('any text', () => {
  const dialects = fc.record({
    delimiter: fc.constantFrom(',', ';', '\t', '+|', '||'),
    quote: fc.constantFrom('"', "'"),
    end: fc.constantFrom<[end: string, recordDelimiter: string | undefined]>(
      ['\n', undefined],
      ['\r\n', undefined],
      ['\r', undefined],
      ['&|\n', '&|\n'],
      ['~', '~'],
    ),
  });
  const value = fc.oneof(
    fc.string(),
    fc.string({
      unit: fc.constantFrom('a', '"', "'", ',', ';', '+', '|', '\n', '\r', '\t', ' ', '&', '~', '\\', 'ß', '😀'),
    }),
    fc.stringMatching(/^0{0,3}\d{1,6}$/),
  );
  const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });

  it('the CSV scanner reads back any text as it was written, with the first line of each row, however the text is split', () => {
    fc.assert(
      fc.property(
        dialects,
        fc.integer({ min: 1, max: 5 }).chain((columns) =>
          fc.array(fc.array(fc.tuple(value, fc.boolean()), { minLength: columns, maxLength: columns }), {
            minLength: 1,
            maxLength: 8,
          }),
        ),
        pieces,
        fc.boolean(),
        ({ delimiter, quote, end: [end, recordDelimiter] }, rows, lengths, endsWithDelimiter) => {
          const special = [delimiter[0] ?? '', quote, end[0] ?? '', '\n', '\r'];
          const write = ([text, quoted]: [string, boolean], alone: boolean) =>
            quoted || (alone && text === '') || special.some((part) => text.includes(part))
              ? quote + text.replaceAll(quote, quote + quote) + quote
              : text;
          let text = '';
          const expected: Scanned[] = [];
          const lineEnd = end === '\r' ? /\r/g : /\n/g;
          // The first row is plain, so that the line end can be found out.
          for (const row of [[['h', false] as [string, boolean]], ...rows]) {
            expected.push({ values: row.map(([cell]) => cell), line: 1 + (text.match(lineEnd)?.length ?? 0) });
            text += row.map((cell) => write(cell, row.length === 1)).join(delimiter) + end;
          }
          if (!endsWithDelimiter) text = text.slice(0, -end.length);
          const dialect = { delimiter, quote, recordDelimiter };
          expect(scan(text, dialect, lengths)).toEqual(expected);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('the CSV scanner gives the same rows however the text is split', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', '#', '\\'), maxLength: 200 });
    const options = fc.record({
      escape: fc.constantFrom('"', '\\'),
      trim: fc.boolean(),
      comment: fc.constantFrom(undefined, '#'),
      skipLines: fc.constantFrom(0, 1),
      maxRecordBytes: fc.constantFrom(64, 1_000),
    });
    fc.assert(
      fc.property(text, options, pieces, (content, dialect, lengths) => {
        const whole = scan(content, dialect).map(withoutCutText);
        expect(scan(content, dialect, lengths).map(withoutCutText)).toEqual(whole);
      }),
      { numRuns: 2_000 },
    );
  });

  it('the CSV scanner reads any text as csv-parse does where csv-parse finds nothing wrong', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '"', ',', '\n'), maxLength: 60 });
    fc.assert(
      fc.property(text, (content) => {
        const reference = strictly(content);
        if (reference !== undefined) expect(values(content)).toEqual(reference);
      }),
      { numRuns: 3_000 },
    );
  });
});

/** How much of a row that is too long is shown depends on how much was seen of it. */
function withoutCutText(record: Scanned): Scanned {
  return record.defect === 'too-long' ? { ...record, raw: '' } : record;
}

function strictly(content: string): string[][] | undefined {
  try {
    return parse(content, { relax_column_count: true, skip_empty_lines: true, record_delimiter: '\n' });
  } catch {
    return undefined;
  }
}
