import { expect, test } from 'vitest';
import { drawPassport } from '../../../src/sandbox/pdf/passport-pdf.ts';
import { readPdf } from '../../support/browser/read-pdf.ts';

const AT = new Date('2026-01-02T03:04:05Z');
const TOP = { title: 'T', name: 'N', link: 'https://example.com/1' };
const entries = (count: number, text: string) => Array.from({ length: count }, (_, index) => `${text} ${index + 1}`);

test('the page of a passport counts the entries that it has no room for', async () => {
  const sections = [
    { title: 'Materials', lines: entries(30, 'material') },
    { title: 'Parts', lines: entries(1000, 'part') },
  ];
  const { pages } = await readPdf(await drawPassport({ ...TOP, lines: entries(12, 'fact'), sections }, AT));
  expect(pages).toHaveLength(1);
  const [lines = []] = pages;
  expect(lines.filter((line) => line.startsWith('material '))).toHaveLength(20);
  expect(lines).toContain('and 10 more');
  const parts = lines.filter((line) => line.startsWith('part ')).length;
  expect(parts).toBeGreaterThan(5);
  expect(lines.at(-1)).toBe(`and ${1000 - parts} more`);
});

test('the page of a passport shortens a text that is wider than the page', async () => {
  const { pages } = await readPdf(
    await drawPassport(
      { ...TOP, name: 'W'.repeat(500), lines: ['x'.repeat(10_000), 'word '.repeat(2000)], sections: [] },
      AT,
    ),
  );
  expect(pages[0]).toHaveLength(4);
  for (const line of pages[0]?.slice(1) ?? []) expect(line).toMatch(/^.{10,150}…$/);
});
