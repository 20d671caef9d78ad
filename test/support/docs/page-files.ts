import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { textCell, workbook } from '../connectors/workbook.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** A block of code, or the table of a workbook, below a line that has only the path of the file. */
const FILE = /^`([\w./-]+)`:\n\n(?:```\w*\n(.*?)^```$|((?:^\|[^\n]*\|\n)+))/gms;

/** The files that a page of docs/connectors shows, by their paths. */
export function filesOfPage(page: string): Record<string, string | Uint8Array> {
  const text = readFileSync(join(ROOT, 'docs/connectors', page), 'utf8');
  return Object.fromEntries(
    [...text.matchAll(FILE)].map(([, path = '', block, table]) => [path, block ?? workbookOf(table ?? '')]),
  );
}

/** A workbook with the cells of a table in Markdown. They are text, and error values such as `#N/A`. */
function workbookOf(table: string): Uint8Array {
  const rows = table
    .trim()
    .split('\n')
    .filter((line) => !/^[|-]+$/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
  const cell = (text: string, row: number, column: number) => {
    const reference = `${String.fromCharCode(65 + column)}${row}`;
    return text.startsWith('#') ? `<c r="${reference}" t="e"><v>${text}</v></c>` : textCell(reference, text);
  };
  const sheet = rows.map(
    (cells, at) => `<row>${cells.map((text, column) => cell(text, at + 1, column)).join('')}</row>`,
  );
  return workbook({ sheet: sheet.join('') });
}
