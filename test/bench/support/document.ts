import { readFileSync, writeFileSync } from 'node:fs';

/** A table in Markdown. All columns except the first one have numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

const DOCUMENT = new URL('../../../docs/performance.md', import.meta.url);

/** Replaces the text of docs/performance.md between the marks of this name. */
export function writeBetween(name: string, text: string): void {
  const marks = [`<!-- ${name} begins -->`, `<!-- ${name} ends -->`] as const;
  const document = readFileSync(DOCUMENT, 'utf8');
  const [from, to] = [document.indexOf(marks[0]), document.indexOf(marks[1])];
  if (from < 0 || to < from) throw new Error(`the document has no marks for ${name}`);
  writeFileSync(DOCUMENT, `${document.slice(0, from + marks[0].length)}\n\n${text}\n\n${document.slice(to)}`);
}
