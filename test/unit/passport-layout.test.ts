import { expect, test } from 'vitest';
import { drawPassport, type PassportContent } from '../../src/sandbox/pdf/passport-layout.ts';
import { loadPdfFonts } from '../../src/sandbox/pdf/pdf-fonts.ts';
import { readPdf } from '../support/read-pdf.ts';

const AT = new Date('2026-01-02T03:04:05Z');

/** A document with one table of rows that are as tall as rows get, so that a page holds one. */
function contentWith(count: number, tellRow?: (row: number) => void): PassportContent {
  function* rows() {
    for (let row = 0; row < count; row += 1) {
      tellRow?.(row);
      yield { cells: ['line\n'.repeat(60), `row ${row}`] };
    }
  }
  return {
    title: 'T',
    name: 'N',
    identity: 'I',
    state: 'published',
    link: 'https://example.com/1',
    linkNote: 'L',
    groups: [],
    sections: [{ title: 'Rows', count, columns: [{ title: 'Lines' }, { title: 'Row', width: 80 }], rows: rows() }],
  };
}

test('ends a table that gets too long and says how much it leaves out', async () => {
  const content = contentWith(100_000);
  const bytes = await drawPassport(await loadPdfFonts(), content, { at: AT, signal: new AbortController().signal });
  const text = bytes.toString('latin1');
  const pages = text.match(/\/Type \/Page$/gm)?.length ?? 0;
  expect(pages).toBeGreaterThanOrEqual(400);
  expect(pages).toBeLessThanOrEqual(402);
  const { pages: read } = await readPdf(bytes);
  const rows = read.flat().filter((line) => line.includes('row ')).length;
  expect(read.flat()).toContain(`${100_000 - rows} more are not shown: a table ends after 400 pages.`);
});

test('lets other work have its turn on every page', async () => {
  let turns = 0;
  let handle = setImmediate(function count() {
    turns += 1;
    handle = setImmediate(count);
  });
  const fonts = await loadPdfFonts();
  const turnsAt: number[] = [];
  await drawPassport(
    fonts,
    contentWith(12, () => turnsAt.push(turns)),
    {
      at: AT,
      signal: new AbortController().signal,
    },
  );
  clearImmediate(handle);
  // The first row may share its page with the top of the document.
  for (let row = 2; row < 12; row += 1) expect(turnsAt[row]).toBeGreaterThan(turnsAt[row - 1] ?? 0);
});

test('stops when nobody will get the document any more', async () => {
  const closing = new AbortController();
  let last = 0;
  const content = contentWith(1000, (row) => {
    last = row;
    if (row === 3) closing.abort(new Error('closing'));
  });
  await expect(drawPassport(await loadPdfFonts(), content, { at: AT, signal: closing.signal })).rejects.toThrow(
    'closing',
  );
  expect(last).toBeLessThan(6);
});

test('says of a table without rows that there are none', async () => {
  const bytes = await drawPassport(await loadPdfFonts(), contentWith(0), {
    at: AT,
    signal: new AbortController().signal,
  });
  expect((await readPdf(bytes)).pages.flat().slice(-2)).toEqual(['Rows (0)', 'None.']);
});
